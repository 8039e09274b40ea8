import BalloonJSON
import BalloonWire
import Testing

@testable import MessageServer

@Suite struct WebhookAuthenticatorTests {
    private static let mspID = "11111111-2222-3333-4444-555555555555"
    private static let now = 1_700_000_000

    private func result(_ header: String?, now: Int = Self.now) throws -> InboundRefusal? {
        let secret = try Secret(Array("0123456789abcdef0123456789abcdef".utf8))
        let authenticator = WebhookAuthenticator(
            CurrentConfiguration(ServerConfiguration(mspID: Self.mspID, secret: secret, businesses: [])))
        do throws(InboundRefusal) {
            try authenticator.authenticate(header.map { Array($0.utf8)[...] }, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test
    func `during a change of the secret tokens of both are accepted, and afterwards only of the new one`()
        throws
    {
        let (old, new) = (
            String(repeating: "old-", count: 8), String(repeating: "new-", count: 8)
        )
        let secret = { (text: String) in try Secret(Array(text.utf8)) }
        var configuration = ServerConfiguration(mspID: Self.mspID, secret: try secret(old), businesses: [])
        let current = CurrentConfiguration(configuration)
        let authenticator = WebhookAuthenticator(current)
        func accepted() throws -> [String] {
            try [old, new, "another-another-another"].filter { signer in
                let header =
                    try "Bearer " + token(#"{"aud":"\#(Self.mspID)","iat":1700000000}"#, secret: signer)
                do throws(InboundRefusal) {
                    try authenticator.authenticate(Array(header.utf8)[...], now: Self.now)
                    return true
                } catch {
                    #expect(error == InboundRefusal(.tokenSignatureMismatch))
                    return false
                }
            }
        }
        #expect(try accepted() == [old])
        (configuration.secret, configuration.previousSecret) = (try secret(new), try secret(old))
        current.replace(with: configuration)
        #expect(try accepted() == [old, new])
        configuration.previousSecret = nil
        current.replace(with: configuration)
        #expect(try accepted() == [new])
    }

    private func token(_ claims: String, secret: String = "0123456789abcdef0123456789abcdef") throws -> String
    {
        TokenSigner(secret: try Secret(Array(secret.utf8))).sign(Array(claims.utf8))
    }

    @Test(arguments: [
        ("the audience is a string", #"{"aud":"\#(mspID)","iat":1700000000}"#, nil as ClaimsFault?),
        ("the audience is an array with us in it", #"{"aud":["x","\#(mspID)"],"iat":1700000000}"#, nil),
        ("iat is at the window's old end", #"{"aud":"\#(mspID)","iat":1699996400}"#, nil),
        ("iat is at the window's new end", #"{"aud":"\#(mspID)","iat":1700003600}"#, nil),
        ("iat is one second too old", #"{"aud":"\#(mspID)","iat":1699996399}"#, .stale),
        ("iat is one second too new", #"{"aud":"\#(mspID)","iat":1700003601}"#, .stale),
        ("exp has passed", #"{"aud":"\#(mspID)","iat":1700000000,"exp":1700000000}"#, .expired),
        ("exp is one second ahead", #"{"aud":"\#(mspID)","iat":1700000000,"exp":1700000001}"#, nil),
        ("exp is a string", #"{"aud":"\#(mspID)","iat":1700000000,"exp":"1700000001"}"#, .noNumber),
        ("exp is null", #"{"aud":"\#(mspID)","iat":1700000000,"exp":null}"#, .noNumber),
        ("nbf is now", #"{"aud":"\#(mspID)","iat":1700000000,"nbf":1700000000}"#, nil),
        ("nbf is one second ahead", #"{"aud":"\#(mspID)","iat":1700000000,"nbf":1700000001}"#, .early),
        ("nbf is a string", #"{"aud":"\#(mspID)","iat":1700000000,"nbf":"1700000000"}"#, .noNumber),
        ("nbf is a list", #"{"aud":"\#(mspID)","iat":1700000000,"nbf":[1]}"#, .noNumber),
        ("the audience is another MSP", #"{"aud":"another","iat":1700000000}"#, .otherAudience),
        ("the audience is an array without us", #"{"aud":["a","b"],"iat":1700000000}"#, .otherAudience),
        ("the audience is missing", #"{"iat":1700000000}"#, .noAudience),
        ("the token is for the gateway", #"{"iss":"\#(mspID)","iat":1700000000}"#, .issuer),
        ("iat is missing", #"{"aud":"\#(mspID)"}"#, .noTime),
        ("iat is a string", #"{"aud":"\#(mspID)","iat":"1700000000"}"#, .noTime),
        ("the claims are not JSON", "aud", .notJSON),
    ])
    func `a token is judged by its claims`(_ label: String, _ claims: String, _ fault: ClaimsFault?)
        throws
    {
        #expect(try result("Bearer " + token(claims)) == fault.map { .badClaims($0) }, "\(label)")
    }

    @Test(arguments: ["Bearer", "bearer", "BEARER"])
    func `the scheme Bearer is compared without case`(_ scheme: String) throws {
        let token = try token(#"{"aud":"\#(Self.mspID)","iat":1700000000}"#)
        #expect(try result("\(scheme) \(token)") == nil)
    }

    @Test(arguments: [nil, "", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Bearerx"] as [String?])
    func `a header without a bearer token is refused`(_ header: String?) throws {
        let refusal = try result(header)
        #expect(refusal == .missingBearer || refusal == .badSignature && header == "Bearer ")
    }

    @Test func `a token signed with another secret is refused`() throws {
        let forged = try token(
            #"{"aud":"\#(Self.mspID)","iat":1700000000}"#, secret: "another secret of some length")
        #expect(try result("Bearer " + forged) == .badSignature)
    }

    @Test func `the algorithm that a token names is never used`() throws {
        let header = Base64.encode(Array(#"{"alg":"none"}"#.utf8), alphabet: .url)
        let claims = Base64.encode(Array(#"{"aud":"\#(Self.mspID)","iat":1700000000}"#.utf8), alphabet: .url)
        #expect(try result("Bearer \(header).\(claims).") == .badSignature)
        #expect(try result("Bearer \(header).\(claims)") == .badSignature)
    }
}
