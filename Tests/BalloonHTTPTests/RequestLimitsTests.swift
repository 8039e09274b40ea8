import Testing

@testable import BalloonHTTP

/// Tests each limit with a request of exactly the limit and with one that exceeds it by one, for every split
/// of the bytes.
@Suite struct RequestLimitsTests {
    @Test func `the request line is accepted up to its limit`() {
        var limits = HTTPLimits()
        limits.maximumRequestLineBytes = 40
        let request = { "GET /\(String(repeating: "a", count: $0)) HTTP/1.1\r\nHost: a\r\n\r\n" }
        expectRead(request(40 - "GET / HTTP/1.1".utf8.count), limits)
        expectRefused(request(41 - "GET / HTTP/1.1".utf8.count), limits, .requestLineTooLong)
    }

    @Test func `a field line is accepted up to its limit`() {
        var limits = HTTPLimits()
        limits.maximumFieldLineBytes = 40
        let request = { "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: $0))\r\n\r\n" }
        expectRead(request(37), limits)
        expectRefused(request(38), limits, .fieldsTooLarge)
    }

    @Test func `fields are accepted up to their maximum count`() {
        var limits = HTTPLimits()
        limits.maximumFieldCount = 5
        let request = { "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: a\r\n", count: $0))\r\n" }
        expectRead(request(4), limits)
        expectRefused(request(5), limits, .fieldsTooLarge)
    }

    @Test func `all fields together are accepted up to their limit`() {
        var limits = HTTPLimits()
        limits.maximumHeaderBytes = 60
        let request = { "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: $0))\r\n\r\n" }
        let fixed = "Host: a\r\nX: \r\n".utf8.count
        expectRead(request(60 - fixed), limits)
        expectRefused(request(61 - fixed), limits, .fieldsTooLarge)
    }

    @Test func `an unfinished line is refused as soon as it is too long`() {
        var limits = HTTPLimits()
        limits.maximumRequestLineBytes = 100
        let bytes = Array(("GET /" + String(repeating: "a", count: 200)).utf8)
        #expect(outcome(of: bytes, endingAt: [101], limits) == .incomplete)
        #expect(outcome(of: bytes, endingAt: [102], limits) == .refused(.requestLineTooLong))
    }

    private func expectRead(
        _ text: String, _ limits: HTTPLimits, _ location: SourceLocation = #_sourceLocation
    ) {
        let all = Set(outcomes(of: text, limits))
        guard all.count == 1, case .head = all.first else {
            Issue.record("\(all)", sourceLocation: location)
            return
        }
    }

    private func expectRefused(
        _ text: String, _ limits: HTTPLimits, _ refusal: HTTPRefusal,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(Set(outcomes(of: text, limits)) == [.refused(refusal)], sourceLocation: location)
    }
}
