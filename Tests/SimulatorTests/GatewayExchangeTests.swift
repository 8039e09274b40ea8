import BalloonPOSIX
import BusinessMessages
import Testing

@testable import Simulator

@Suite struct GatewayExchangeTests {
    @Test func `the signature of a token is masked, and other fields stay`() {
        #expect(maskedSignature(of: "Bearer aaa.bbb.ccc", in: "Authorization") == "Bearer aaa.bbb.…")
        #expect(maskedSignature(of: "Bearer opaque", in: "authorization") == "…")
        #expect(maskedSignature(of: "a.b.c", in: "id") == "a.b.c")
    }

    /// The second column is the size of a header field in bytes, the third the number of exchanges that stay.
    @Test(arguments: [(5_001, 1, 5_000), (4, 20 << 20, 3)])
    func `the oldest exchanges are dropped beyond 5,000 and 64 MiB`(count: Int, bytes: Int, kept: Int) {
        let value = String(repeating: "x", count: bytes)
        var exchanges = GatewayExchanges()
        for number in 1...count {
            exchanges.append(
                GatewayExchange(
                    id: MessageID("m\(number)"), at: .now(), status: 200, headers: [("id", value)],
                    response: "", bytes: 1, duration: nil))
        }
        #expect(exchanges.count == kept)
        #expect(exchanges.about(MessageID("m1")).isEmpty)
        #expect(exchanges.about(MessageID("m\(count)")).count == 1)
    }

    @Test func `the text of a rule can be parsed again`() throws {
        for text in [
            "message=503,times=2", "message=429/7", "blob=shorter/2,every=3", "upload=drop", "blob=slow/9",
        ] {
            #expect(try #require(MisbehaviourRule(text)).description == text)
        }
    }
}
