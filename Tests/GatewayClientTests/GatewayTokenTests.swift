import BalloonJSON
import BalloonWire
import Testing

@testable import GatewayClient

@Suite struct GatewayTokenTests {
    private let secret = Secret.random(byteCount: 32)

    private func issuedAt(_ token: String) throws -> Int? {
        try JSONDocument(TokenVerifier(secret: secret).verify(token.utf8)).root["iat"]?.int
    }

    @Test func `a token is reused for five minutes and no longer`() throws {
        let token = GatewayToken(mspID: "msp", secret: secret)
        #expect(try issuedAt(token.token(now: 1000)) == 1000)
        #expect(try issuedAt(token.token(now: 1299)) == 1000)
        #expect(try issuedAt(token.token(now: 1300)) == 1300)
    }

    @Test func `a new token is minted when the clock was set back`() throws {
        let token = GatewayToken(mspID: "msp", secret: secret)
        _ = token.token(now: 1000)
        #expect(try issuedAt(token.token(now: 999)) == 999)
        #expect(try issuedAt(token.token(now: 0)) == 0)
    }

    @Test func `renewing the token mints a new one at once`() throws {
        let token = GatewayToken(mspID: "msp", secret: secret)
        _ = token.token(now: 1000)
        token.renew()
        #expect(try issuedAt(token.token(now: 1001)) == 1001)
    }

    @Test func `an MSP id is escaped as JSON`() throws {
        let token = GatewayToken(mspID: #"a"b"#, secret: secret).token(now: 1)
        let claims = try TokenVerifier(secret: secret).verify(token.utf8)
        #expect(claims == Array(#"{"iss":"a\"b","iat":1}"#.utf8))
    }
}
