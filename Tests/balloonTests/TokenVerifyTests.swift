import BalloonJSON
import BalloonWire
import Testing

@testable import MessageServer
@testable import balloon

@Suite struct TokenCheckTests {
    private static let claims = [
        (#"{"aud":"msp","iat":1000}"#, nil), (#"{"aud":["other","msp"],"iat":1000.5}"#, nil),
        (#"{"aud":"msp","iat":940}"#, nil), (#"{"aud":"msp","iat":1060}"#, nil),
        (#"{"aud":"msp","iat":1000,"exp":1001}"#, nil),
        (#"{"aud":"msp","iat":1000,"exp":1000}"#, "the token has expired"),
        (#"{"aud":"msp","iat":939}"#, "iat is 61 seconds ago; check the clock"),
        (#"{"aud":"msp","iat":1061}"#, "iat is 61 seconds ahead; check the clock"),
        (#"{"aud":"msp","iat":-1e300}"#, "iat is 1000000000000000 seconds ago; check the clock"),
        (#"{"aud":"other","iat":1000}"#, "aud is another MSP's ID"),
        (#"{"aud":[],"iat":1000}"#, "aud is another MSP's ID"),
        (#"{"aud":"msp"}"#, "the token has no iat"), (#"{"iat":1000}"#, "the token has no aud"),
        (#"{"iss":"msp","iat":1000}"#, "the token has iss instead of aud: it is a token for the gateway"),
        ("[]", "the token has no aud"),
    ]

    @Test(arguments: claims)
    func `the first wrong claim is named`(claims: String, reason: String?) throws {
        let check = TokenCheck(mspID: "msp", tokenAge: .seconds(60))
        #expect(check.refusal(of: try JSONDocument(Array(claims.utf8)).root, now: 1000) == reason)
    }

    @Test(arguments: claims)
    func `the server refuses the same claims`(claims: String, reason: String?) throws {
        let secret = Secret.random(byteCount: 32)
        var configuration = ServerConfiguration(mspID: "msp", secret: secret, businesses: [])
        configuration.limits.tokenAge = .seconds(60)
        let server = WebhookAuthenticator(CurrentConfiguration(configuration))
        let header = Array("Bearer \(TokenSigner(secret: secret).sign(claims.utf8))".utf8)
        let isRefused = (try? server.authenticate(header[...], now: 1000)) == nil
        #expect(isRefused == (reason != nil))
    }
}
