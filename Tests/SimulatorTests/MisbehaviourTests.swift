import BalloonHTTP
import BalloonJSON
import BalloonTransport
import BusinessMessages
import Testing

@testable import Simulator

@Suite struct MisbehaviourTests {
    @Test(arguments: [
        ("message=503", MisbehaviourRule(.message, .answer(.serviceUnavailable))),
        ("message=429/7,times=2", MisbehaviourRule(.message, status(429, 7), times: 2)),
        ("message=delay/250", MisbehaviourRule(.message, .delay(.milliseconds(250)))),
        ("authenticate=silence", MisbehaviourRule(.authenticate, .silence)),
        ("upload=drop,every=3", MisbehaviourRule(.upload, .drop, every: 3)),
        ("preDownload=expired", MisbehaviourRule(.preDownload, .answer(.notFound))),
        ("blob=truncate/100", MisbehaviourRule(.blob, .truncate(bytes: 100))),
        ("blob=longer/1", MisbehaviourRule(.blob, .resize(by: 1))),
        ("blob=shorter/2", MisbehaviourRule(.blob, .resize(by: -2))),
        ("blob=garble", MisbehaviourRule(.blob, .garble)),
        (
            "blob=slow/1000,times=1,every=2",
            MisbehaviourRule(.blob, .trickle(bytesPerSecond: 1000), times: 1, every: 2)
        ),
        ("decodePayload=endless", MisbehaviourRule(.decodePayload, .endless)),
    ])
    func `a misbehaviour rule is parsed from its text`(text: String, rule: MisbehaviourRule) {
        #expect(MisbehaviourRule(text) == rule)
    }

    @Test(arguments: [
        "", "message", "message=", "=503", "other=503", "message=200", "message=1000", "message=5x3",
        "message=503,", "message=503,times=0", "message=503,times=-1", "message=503,often=1",
        "message=drop/1",
        "message=delay/9223372036854775807", "blob=longer/9223372036854775807", "blob=slow/100000001",
        "message=delay", "message=delay/-1", "message=slow/0", "message=truncate/1/2", "message=503 ",
    ])
    func `an invalid misbehaviour rule is refused`(text: String) { #expect(MisbehaviourRule(text) == nil) }

    @Test func `a misbehaviour rule applies to every n-th request until it is used up`() {
        var rule = MisbehaviourRule(.message, .drop, times: 2, every: 3)
        let due = (1...8).map { _ in rule.isDue() }
        #expect(due == [false, false, true, false, false, true, false, false])
        #expect(!rule.isLeft)
    }

    @Test func `a dropped, truncated or resized answer is detected`() async throws {
        let test = try await GatewayConversation()
        let data = try JSONDocument(Array(#"{"bid":"x"}"#.utf8)).root
        let reference = try test.gateway.register(interactiveData: data, for: BusinessID("b"))
        let name = try #require(reference.url.split(separator: "/M").last?.split(separator: ".").first)
        func blob() async throws -> Int { try await test.ask("GET", "/blob/\(name)").body.count }
        #expect(try await blob() == reference.sizeBytes)
        for wrong in [Misbehaviour.drop, .truncate(bytes: 10), .truncate(bytes: 0)] {
            // Misbehave twice, because libcurl itself retries once when a reused connection breaks.
            test.gateway.misbehave(at: .blob, wrong, times: 2)
            await #expect(throws: TransportError.self) { _ = try await blob() }
            test.gateway.behave()
        }
        test.gateway.misbehave(at: .blob, .resize(by: 3))
        #expect(try await blob() == reference.sizeBytes + 3)
        test.gateway.misbehave(at: .blob, .resize(by: -3))
        #expect(try await blob() == reference.sizeBytes - 3)
        let whole = try await test.ask("GET", "/blob/\(name)").body
        test.gateway.misbehave(at: .blob, .garble)
        let garbled = try await test.ask("GET", "/blob/\(name)").body
        #expect(garbled.count == whole.count && garbled != whole)
        test.gateway.misbehave(at: .blob, .trickle(bytesPerSecond: 2000))
        #expect(try await test.ask("GET", "/blob/\(name)").body == whole)
        test.gateway.misbehave(at: .blob, .endless)
        await #expect(throws: TransportError.responseTooLarge(maximumBytes: 1 << 20)) { _ = try await blob() }
        await test.gateway.stop()
    }

    @Test func `misbehaviour rules are set and removed while the gateway runs`() async throws {
        let test = try await GatewayConversation()
        func rules(_ text: String) async throws -> Int {
            try await test.ask("POST", "/_simulator/misbehaviour", body: Array(text.utf8), bearer: "").status
        }
        #expect(try await rules("message=503,every=2\nblob=drop") == 200)
        #expect(
            try await [test.post("1").status, test.post("2").status, test.post("3").status] == [
                200, 503, 200,
            ])
        #expect(try await rules("") == 200)
        #expect(try await [test.post("4").status, test.post("5").status] == [200, 200])
        #expect(try await rules("message=nonsense") == 400)
        await test.gateway.stop()
    }

    @Test func `a customer's file is stored encrypted, and on disk when it is large`() async throws {
        let test = try await GatewayConversation()
        var content = StoredContentWriter()
        for _ in 0..<3 { try content.append([UInt8](repeating: 7, count: 50_000)) }
        let (stored, checksum) = content.finish()
        #expect(stored.sizeBytes == 150_000)
        #expect(try stored.read(at: 149_990, count: 100) == [UInt8](repeating: 7, count: 10))
        #expect(try stored.readAll() == [UInt8](repeating: 7, count: 150_000))
        #expect(checksum == mmcsChecksum(of: [UInt8](repeating: 7, count: 150_000)))
        await test.gateway.stop()
    }

    private static func status(_ code: Int, _ seconds: Int) -> Misbehaviour {
        HTTPStatus(code: code).map { .answer($0, retryAfterSeconds: seconds) } ?? .silence
    }
}
