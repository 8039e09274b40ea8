import BalloonJSON
import MessageServer
import Testing

@testable import balloon

@Suite struct TokenVerifyTests {
    @Test(arguments: [
        (
            #"{"aud":"msp","iat":939}"#,
            "the token's iat is outside the window: 61 seconds ago; check the clock"
        ),
        (
            #"{"aud":"msp","iat":1061}"#,
            "the token's iat is outside the window: 61 seconds ahead; check the clock"
        ),
        (
            #"{"aud":"msp","iat":-1e300}"#,
            "the token's iat is outside the window: 1000000000000000 seconds ago; check the clock"
        ),
        (#"{"aud":"other","iat":1000}"#, "the token is for another MSP"),
    ])
    func `the reason says how far the clocks are apart`(claims: String, reason: String) throws {
        let claims = try JSONDocument(Array(claims.utf8)).root
        let fault = try #require(
            ClaimsFault.first(in: claims, mspID: "msp", tokenAge: .seconds(60), now: 1000))
        #expect(Token.Verify.reason(fault, claims, 1000) == reason)
    }
}
