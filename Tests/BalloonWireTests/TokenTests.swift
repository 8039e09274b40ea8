import BalloonJSON
import BalloonWire
import FoundationEssentials
import TestSupport
import Testing

/// The content of `Tests/TestSupport/Fixtures/vectors/jwt_hs256.json`.
private struct TokenVectors: Decodable {
    struct Vector: Decodable { let token: String }

    let secretBase64: String
    let outbound: Vector
    let inbound: Vector
    let inboundAudArray: Vector
    let wrongKeyNotBase64Decoded: String
    let algNone: String
}

@Suite struct TokenTests {
    private let vectors: TokenVectors
    private let secret: Secret
    private let verifier: TokenVerifier

    init() throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        vectors = try decoder.decode(
            TokenVectors.self, from: Data(Fixture.bytes("vectors/jwt_hs256.json")))
        secret = try Secret(base64: vectors.secretBase64)
        verifier = TokenVerifier(secret: secret)
    }

    private func claims(_ token: String) throws -> String {
        String(decoding: try verifier.verify(token.utf8), as: UTF8.self)
    }

    @Test func `the tokens of the fixture are accepted each time they are verified`() throws {
        let mspID = "11111111-2222-3333-4444-555555555555"
        for _ in 1...2 {
            #expect(try claims(vectors.inbound.token) == #"{"aud":"\#(mspID)","iat":1700000000}"#)
            #expect(try claims(vectors.inboundAudArray.token) == #"{"aud":["\#(mspID)"],"iat":1700000000}"#)
        }
    }

    @Test func `verified claims replace the previous content of the caller's array`() throws {
        var claims = [UInt8](repeating: 0x20, count: 1000)
        try verifier.verify(vectors.inbound.token.utf8, into: &claims)
        #expect(String(decoding: claims, as: UTF8.self) == (try self.claims(vectors.inbound.token)))
    }

    @Test func `the signer writes the token of the fixture`() {
        let claims = #"{"iss":"11111111-2222-3333-4444-555555555555","iat":1700000000}"#
        #expect(TokenSigner(secret: secret).sign(claims.utf8) == vectors.outbound.token)
    }

    // The example of RFC 7515 §A.1; its claims have line breaks, and its header has two members.
    @Test func `the example of RFC 7515 is accepted`() throws {
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
            + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let verifier = TokenVerifier(secret: try Secret(#require(Base64.decode(key, alphabet: .url))))
        let claims = try verifier.verify(token.utf8)
        #expect(String(decoding: claims, as: UTF8.self).hasPrefix("{\"iss\":\"joe\",\r\n"))
    }

    @Test func `a token that is signed with another key is refused`() throws {
        #expect(throws: WireError.tokenSignatureMismatch) { try claims(vectors.wrongKeyNotBase64Decoded) }
        let other = TokenSigner(secret: .random(byteCount: 32)).sign("{}".utf8)
        #expect(throws: WireError.tokenSignatureMismatch) { try claims(other) }
        // The verifier still accepts a valid token.
        #expect(throws: Never.self) { try claims(vectors.inbound.token) }
    }

    @Test func `a token with the algorithm none is refused, with and without a signature`() throws {
        #expect(throws: WireError.tokenMalformed) { try claims(vectors.algNone) }
        let signature = try #require(vectors.inbound.token.split(separator: ".").last)
        #expect(throws: WireError.tokenSignatureMismatch) { try claims(vectors.algNone + signature) }
    }

    @Test func `a token with any changed character is refused`() {
        let token = Array(vectors.inbound.token.utf8)
        for index in token.indices {
            var changed = token
            changed[index] ^= 1
            #expect(throws: WireError.self, "changed at \(index)") { try verifier.verify(changed) }
        }
    }

    @Test func `a token that is cut at any character is refused`() {
        let token = Array(vectors.inbound.token.utf8)
        for count in 0..<token.count {
            #expect(throws: WireError.self, "cut at \(count)") { try verifier.verify(token[..<count]) }
        }
    }

    @Test(arguments: ["", ".", "..", "...", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d", "a.b.c.", ".a.b.c"])
    func `a token without three parts is malformed`(token: String) {
        #expect(throws: WireError.tokenMalformed) { try claims(token) }
    }

    @Test(arguments: ["=", " ", "\n", ".", ".x", "A"])
    func `a token with characters after its signature is refused`(suffix: String) {
        #expect(throws: WireError.self) { try claims(vectors.inbound.token + suffix) }
    }

    @Test func `a signature in the standard Base64 alphabet is refused`() throws {
        // The signature of this fixture contains both characters that differ between the two alphabets.
        let token = vectors.inbound.token
        #expect(token.contains("_"))
        let standard = String(token.map { $0 == "_" ? "/" : $0 == "-" ? "+" : $0 })
        #expect(throws: WireError.tokenSignatureMismatch) { try claims(standard) }
    }

    @Test func `a signature whose unused bits are changed is refused`() throws {
        // 43 characters carry two bits more than 32 bytes: "Q" and "R" decode to the same signature.
        #expect(vectors.inbound.token.hasSuffix("Q"))
        #expect(throws: WireError.tokenSignatureMismatch) {
            try claims(vectors.inbound.token.dropLast() + "R")
        }
    }

    @Test(arguments: ["e30=", "e3", "e31", "a+b/", "é"])
    func `signed claims that are not Base64url are refused as malformed`(claims text: String) throws {
        let token = Self.sign("eyJhbGciOiJIUzI1NiJ9." + text, secret: secret)
        #expect(throws: WireError.tokenMalformed) { try claims(token) }
    }

    @Test(arguments: [
        #"{"alg":"HS256"}"#, #"{"typ":"JWT","alg":"HS256","kid":"7"}"#, #" { "alg" : "\u0048S256" } "#,
    ])
    func `a header that names HS256 is accepted`(header: String) throws {
        #expect(try claims(signed(header)) == "{}")
    }

    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"HS512"}"#, #"{"alg":"hs256"}"#, #"{"alg":"HS256 "}"#,
        #"{"alg":["HS256"]}"#,
        #"{"alg":null}"#, "{}", #"{"ALG":"HS256"}"#, #"{"alg":"HS256","crit":["exp"]}"#,
        #"{"alg":"HS256","crit":null}"#, #"{"alg":"none","alg":"HS256"}"#, #"{"alg":"HS256","alg":"HS256"}"#,
        #"["alg","HS256"]"#, #""HS256""#, "7", "{", #"{"alg":"HS256"}{}"#, "\u{FEFF}{\"alg\":\"HS256\"}",
    ])
    func `any other header is refused, even when it is signed with our secret`(header: String) throws {
        // The header is also refused after a valid header was accepted.
        #expect(throws: Never.self) { try claims(vectors.inbound.token) }
        #expect(throws: WireError.tokenHeader) { try claims(signed(header)) }
        #expect(throws: Never.self) { try claims(vectors.inbound.token) }
    }

    @Test(arguments: [
        "eyJhbGciOiJIUzI1NiJ9=", "eyJhbGciOiJIUzI1NiJ", "eyJhbGciOiJIUzI1NiJ+", " eyJhbGciOiJIUzI1NiJ9",
    ])
    func `a signed header that is not Base64url is refused as malformed`(header: String) throws {
        #expect(throws: WireError.tokenMalformed) { try claims(Self.sign(header + ".e30", secret: secret)) }
    }

    private func signed(_ header: String) -> String {
        Self.sign(Base64.encode(Array(header.utf8), alphabet: .url) + ".e30", secret: secret)
    }

    /// Signs any two parts, built from SHA-256 alone (RFC 2104 §2), so that the verifier is not checked against its own code.
    private static func sign(_ signed: String, secret: Secret) -> String {
        let key = secret.bytes + [UInt8](repeating: 0, count: 64 - secret.bytes.count)
        let inner = SHA256.hash((key.map { $0 ^ 0x36 } + Array(signed.utf8)))
        let tag = SHA256.hash((key.map { $0 ^ 0x5c } + inner))
        return signed + "." + Base64.encode(tag, alphabet: .url)
    }
}
