import BalloonJSON
import BalloonTransport
import RetentionMessages
import TestSupport
import Testing

@testable import Simulator

struct PerformanceTestTests {
    private static let url = "http://127.0.0.1:1/retention/shop/sandbox"
    private static let known = "a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890"

    private static func response(
        _ body: String, status: Int = 200, _ headers: [(name: String, value: String)] = []
    ) -> Result<TransportResponse, TransportError> {
        .success(TransportResponse(status: status, headers: headers, body: Array(body.utf8)))
    }

    private static let exchanges:
        [(
            label: String, exchange: Result<TransportResponse, TransportError>,
            failure: PerformanceTest.Failure?
        )] = [
            ("nothing", response("{}"), nil),
            ("a message", response(#"{"message":{"messageIdentifier":"\#(known)"}}"#), nil),
            (
                "an offer", response(#"{"promotionalOffer":{"messageIdentifier":"\#(known.uppercased())"}}"#),
                nil
            ),
            ("commerce", response(#"{"advancedCommerceInfo":{}}"#), nil),
            (
                "UTF-8", response("{}", [(name: "Content-Type", value: "application/json; charset=UTF-8")]),
                nil
            ),
            (
                "Latin", response("{}", [(name: "Content-Type", value: "application/json; charset=latin1")]),
                .unsupportedCharset
            ),
            (
                "an unknown message",
                response(#"{"message":{"messageIdentifier":"b1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890"}}"#),
                .invalidResponse
            ),
            ("two shapes", response(#"{"message":{},"promotionalOffer":{}}"#), .invalidResponse),
            ("no object", response("[]"), .invalidResponse), ("no JSON", response("hello"), .invalidResponse),
            ("503", response("{}", status: 503), .status), ("404", response("", status: 404), .status),
            (
                "to itself", response("", status: 302, [(name: "Location", value: url)]), .circularRedirect
            ),
            ("elsewhere", response("", status: 302, [(name: "Location", value: "http://a/")]), .status),
            ("late", .failure(.timedOut), .timedOut), ("refused", .failure(.connectionFailed), .socket),
            ("TLS", .failure(.tlsFailed(code: 35)), .tls),
            ("certificate", .failure(.certificateRefused), .tls),
            ("closed at once", .failure(.interrupted(code: 52)), .noResponse),
            ("closed", .failure(.interrupted(code: 18)), .prematureClose),
            ("large", .failure(.responseTooLarge(maximumBytes: 1)), .invalidResponse),
            ("memory", .failure(.failed(code: 27)), .other),
        ]

    @Test func `each end of a question has Apple's name`() {
        for (label, exchange, failure) in Self.exchanges {
            let found = PerformanceTest.failure(of: exchange, at: Self.url) { $0.text == Self.known }
            #expect(found == failure, "\(label)")
        }
    }

    @Test func `a percentile is the smallest time that it does not exceed`() {
        let times = Array(1...100)
        for percentile in [50, 90, 95, 99] {
            #expect(PerformanceTest.percentile(percentile, of: times) == percentile)
        }
        #expect(PerformanceTest.percentile(99, of: [7]) == 7)
        #expect(PerformanceTest.percentile(50, of: [1, 9]) == 1)
        #expect(PerformanceTest.percentile(50, of: []) == 0)
    }

    @Test(arguments: [(4, "FAIL"), (5, "PASS")])
    func `a test passes with 95 of 100 questions`(_ last: Int, _ result: String) async throws {
        let test = PerformanceTest(of: Self.url)
        #expect(try JSONDocument(test.result).root["result"]?.string == "PENDING")
        await test.run { number in
            let isLate = number < 10 - last
            return PerformanceTest.Sample(time: .milliseconds(number), failure: isLate ? .timedOut : nil)
        }
        let root = try JSONDocument(test.result).root
        #expect(root["result"]?.string == result)
        #expect(root["successRate"]?.int == 90 + last)
        #expect(root["failures"]?["TIMED_OUT"]?.int == 10 - last)
        #expect(root["numPending"]?.int == 0)
        #expect(root["responseTimes"]?["p99"]?.int == 98)
        #expect(root["config"]?["totalRequests"]?.int == 100)
        #expect(root["target"]?.string == Self.url)
    }
}
