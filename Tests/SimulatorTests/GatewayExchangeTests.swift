import Testing

@testable import Simulator

@Suite struct GatewayExchangeTests {
    @Test func `the signature of a token is masked, and other fields stay`() {
        #expect(maskedSignature(of: "Bearer aaa.bbb.ccc", in: "Authorization") == "Bearer aaa.bbb.…")
        #expect(maskedSignature(of: "Bearer opaque", in: "authorization") == "…")
        #expect(maskedSignature(of: "a.b.c", in: "id") == "a.b.c")
    }

    @Test func `the text of a rule can be parsed again`() throws {
        for text in [
            "message=503,times=2", "message=429/7", "blob=shorter/2,every=3", "upload=drop", "blob=slow/9",
        ] {
            #expect(try #require(MisbehaviourRule(text)).description == text)
        }
    }
}
