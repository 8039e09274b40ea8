import BalloonJSON
import BalloonWire
import Testing

@testable import SignIn

/// One change to a valid token and the rule that then refuses it.
private struct Row: CustomTestStringConvertible {
    let testDescription: String
    let refusal: IDTokenRefusal?
    let change: @Sendable (inout TokenSample) -> Void

    init(
        _ name: String, _ refusal: IDTokenRefusal?, _ change: @escaping @Sendable (inout TokenSample) -> Void
    ) {
        testDescription = name
        self.refusal = refusal
        self.change = change
    }
}

private let rows: [Row] = [
    Row("unchanged", nil) { _ in },
    Row("alg none", .algorithm) { $0.header["alg"] = #""none""# },
    Row("alg HS256", .algorithm) { $0.header["alg"] = #""HS256""# },
    Row("alg absent", .algorithm) { $0.header["alg"] = .some(nil) },
    Row("alg of another key", .keyRefused) { $0.header["alg"] = #""RS256""# },
    Row("crit", .criticalExtension) { $0.header["crit"] = #"["exp"]"# },
    Row("unknown kid", .unknownKey) { $0.header["kid"] = #""k9""# },
    Row("kid is a number", .malformed) { $0.header["kid"] = "1" },
    Row("kid absent, one key fits", nil) { $0.header["kid"] = .some(nil) },
    Row("iss of another issuer", .issuer) { $0.claims["iss"] = #""https://id.example/""# },
    Row("iss absent", .issuer) { $0.claims["iss"] = .some(nil) },
    Row("aud of another client", .audience) { $0.claims["aud"] = #""other""# },
    Row("aud absent", .audience) { $0.claims["aud"] = .some(nil) },
    Row("aud is our client in a list", nil) { $0.claims["aud"] = #"["balloon"]"# },
    Row("aud with another client", .audience) { $0.claims["aud"] = #"["balloon","other"]"# },
    Row("aud with a configured audience, and azp", nil) {
        $0.claims["aud"] = #"["api","balloon"]"#
        $0.claims["azp"] = #""balloon""#
    },
    Row("aud with a configured audience, azp absent", .authorizedParty) {
        $0.claims["aud"] = #"["api","balloon"]"#
    },
    Row("aud with a configured audience, azp null", .authorizedParty) {
        $0.claims["aud"] = #"["api","balloon"]"#
        $0.claims["azp"] = "null"
    },
    Row("aud with a configured audience, azp of it", .authorizedParty) {
        $0.claims["aud"] = #"["api","balloon"]"#
        $0.claims["azp"] = #""api""#
    },
    Row("aud is a configured audience alone", .audience) {
        $0.claims["aud"] = #"["api"]"#
        $0.claims["azp"] = #""balloon""#
    },
    Row("aud names our client twice", nil) { $0.claims["aud"] = #"["balloon","balloon"]"# },
    Row("aud with another client, and azp", .audience) {
        $0.claims["aud"] = #"["balloon","other"]"#
        $0.claims["azp"] = #""balloon""#
    },
    Row("aud is an empty list", .audience) { $0.claims["aud"] = "[]" },
    Row("aud with a number", .audience) { $0.claims["aud"] = #"["balloon",1]"# },
    Row("azp is our client", nil) { $0.claims["azp"] = #""balloon""# },
    Row("azp of another client", .authorizedParty) { $0.claims["azp"] = #""other""# },
    Row("sub absent", .subject) { $0.claims["sub"] = .some(nil) },
    Row("sub empty", .subject) { $0.claims["sub"] = #""""# },
    Row("exp 59 s ago", nil) { $0.claims["exp"] = "1799999941" },
    Row("exp 60 s ago", .expired) { $0.claims["exp"] = "1799999940" },
    Row("exp absent", .expired) { $0.claims["exp"] = .some(nil) },
    Row("exp is text", .expired) { $0.claims["exp"] = #""1800000300""# },
    Row("exp beyond every calendar", .expired) { $0.claims["exp"] = "1e300" },
    Row("exp with a fraction", nil) { $0.claims["exp"] = "1800000300.5" },
    Row("iat 60 s ahead", nil) { $0.claims["iat"] = "1800000060" },
    Row("iat 61 s ahead", .issuedLater) { $0.claims["iat"] = "1800000061" },
    Row("iat absent", .issuedLater) { $0.claims["iat"] = .some(nil) },
    Row("nbf 61 s ahead", .notYetValid) { $0.claims["nbf"] = "1800000061" },
    Row("nonce of another request", .nonceDiffers) { $0.claims["nonce"] = #""another""# },
    Row("nonce absent", .nonceMissing) { $0.claims["nonce"] = .some(nil) },
    Row("a repeated member", .repeatedMember) { $0.claims["sub"] = #""customer-1","sub":"customer-2""# },
    Row("a repeated member in a member", .repeatedMember) {
        $0.claims["address"] = #"{"a":[{"b":1,"b":2}]}"#
    },
    Row("a repeated member in the header", .repeatedMember) { $0.header["alg"] = #""none","alg":"ES256""# },
]

@Suite struct IDTokenTests {
    private let curve: SigningKey
    private let rsa: SigningKey
    private let rules: IDTokenRules

    init() throws {
        curve = try TestKeys.curve.get()
        rsa = try TestKeys.rsa.get()
        var rules = IDTokenRules(
            issuer: TokenSample.issuer, clientID: TokenSample.clientID, nonce: TokenSample.nonce)
        rules.otherAudiences = ["api"]
        self.rules = rules
    }

    private func refusal(
        of token: String, _ keys: JSONWebKeys, _ rules: IDTokenRules? = nil
    ) -> IDTokenRefusal? {
        do throws(IDTokenRefusal) {
            _ = try (rules ?? self.rules).verify(token, with: keys, at: TokenSample.now)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: rows) private func `each rule refuses the token that breaks it`(_ row: Row) throws {
        var sample = TokenSample(signedBy: curve)
        row.change(&sample)
        let keys = try TokenSample.keys([("k1", curve.publicKey, "")])
        #expect(refusal(of: try sample.encoded(), keys) == row.refusal)
    }

    @Test func `an RS256 token is verified by its key`() throws {
        let token = try TokenSample(signedBy: rsa).encoded()
        let keys = try TokenSample.keys([("k1", rsa.publicKey, #""use":"sig","alg":"RS256""#)])
        let claims = try rules.verify(token, with: keys, at: TokenSample.now)
        #expect(claims.root["sub"]?.string == "customer-1")
        var onlyCurve = rules
        onlyCurve.algorithms = [.es256]
        #expect(refusal(of: token, keys, onlyCurve) == .algorithm)
    }

    @Test func `HS256 keyed with the public key is refused`() throws {
        let key = TokenSample.jwk(rsa.publicKey, id: "k1")
        let token = TokenSigner(secret: try Secret(Array(key.utf8))).sign(
            TokenSample.object(TokenSample(signedBy: rsa).claims))
        let keys = try TokenSample.keys([("k1", rsa.publicKey, "")])
        #expect(refusal(of: token, keys) == .algorithm)
    }

    @Test func `a key that is too small, of another use or another algorithm is refused`() throws {
        let token = try TokenSample(signedBy: rsa).encoded()
        let small = Base64.encode([UInt8](repeating: 0xFF, count: 128), alphabet: .url)
        let modulus = try #require(rsa.publicKey.members.first { $0.name == "n" }).value
        let refused = [
            #"{"kty":"RSA","kid":"k1","n":"\#(small)","e":"AQAB"}"#,
            TokenSample.jwk(rsa.publicKey, id: "k1", more: #""use":"enc""#),
            TokenSample.jwk(rsa.publicKey, id: "k1", more: #""alg":"RS512""#),
            TokenSample.jwk(rsa.publicKey, id: "k1", more: #""key_ops":["encrypt"]"#),
            TokenSample.jwk(curve.publicKey, id: "k1"),
            #"{"kty":"oct","kid":"k1","k":"\#(modulus)"}"#,
            #"{"kty":"RSA","kid":"k1","n":7}"#, #"{"kid":"k1"}"#,
        ]
        for key in refused {
            let document = try JSONDocument(Array(#"{"keys":[\#(key)]}"#.utf8))
            let keys = try #require(JSONWebKeys(document))
            #expect(refusal(of: token, keys) == .keyRefused, "\(key)")
        }
    }

    @Test func `a token without kid needs exactly one fitting key`() throws {
        let other = try TestKeys.otherCurve.get().publicKey
        let token = try TokenSample(signedBy: curve, keyID: nil).encoded()
        let fitting = try TokenSample.keys([("a", rsa.publicKey, ""), ("b", curve.publicKey, "")])
        #expect(refusal(of: token, fitting) == nil)
        let several = try TokenSample.keys([("a", curve.publicKey, ""), ("b", other, "")])
        #expect(refusal(of: token, several) == .ambiguousKey)
        let none = try TokenSample.keys([("a", rsa.publicKey, "")])
        #expect(refusal(of: token, none) == .unknownKey)
    }

    @Test func `another key's signature and one changed bit are refused`() throws {
        let token = try TokenSample(signedBy: curve).encoded()
        let keys = try TokenSample.keys([("k1", curve.publicKey, "")])
        let other = try TokenSample.keys([("k1", TestKeys.otherCurve.get().publicKey, "")])
        #expect(refusal(of: token, other) == .signature)
        let bytes = Array(token.utf8)
        for index in stride(from: 0, to: bytes.count, by: 5) where bytes[index] != UInt8(ascii: ".") {
            var changed = bytes
            changed[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(refusal(of: String(decoding: changed, as: UTF8.self), keys) != nil, "byte \(index)")
        }
    }

    @Test func `an encrypted token and texts that are no token are refused`() throws {
        let keys = try TokenSample.keys([("k1", curve.publicKey, "")])
        #expect(refusal(of: "a.b.c.d.e", keys) == .encrypted)
        #expect(SignInFailure.idTokenRefused(.encrypted).code == 502)
        let array = try curve.sign(
            header: TokenSample.object(TokenSample(signedBy: curve).header), claims: Array("[]".utf8))
        for token in ["", "a.b", "....", array, "e30.e30.AAAA" + String(repeating: "A", count: 65_536)] {
            let expected: IDTokenRefusal = token == "...." ? .encrypted : .malformed
            #expect(refusal(of: token, keys) == expected, "\(token.prefix(20))")
        }
    }

    @Test func `without a nonce of ours the token's nonce is ignored`() throws {
        var rules = rules
        rules.nonce = nil
        let token = try TokenSample(signedBy: curve).encoded()
        #expect(refusal(of: token, try TokenSample.keys([("k1", curve.publicKey, "")]), rules) == nil)
    }
}
