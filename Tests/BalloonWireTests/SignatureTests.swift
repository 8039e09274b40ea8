import BalloonJSON
import BalloonWire
import FoundationEssentials
import TestSupport
import Testing

/// The content of `Tests/TestSupport/Fixtures/vectors/ecdsa_p256_sha256_p1363.json`.
private struct CurveVectors: Decodable {
    struct Vector: Decodable {
        let id: Int
        let comment: String
        let point: String
        let message: String
        let signature: String
        let isValid: Bool
    }

    let tests: [Vector]
}

/// The content of `Tests/TestSupport/Fixtures/vectors/rfc7515.json`.
private struct TokenExamples: Decodable {
    struct RSA: Decodable { let token, n, e: String }
    struct Curve: Decodable { let token, x, y: String }

    let rs256: RSA
    let es256: Curve
}

/// The content of `Tests/TestSupport/Fixtures/vectors/private_keys.json`.
private struct PrivateKeys: Decodable {
    let p256: String
    let refused: [String: String]
}

private func read<Content: Decodable>(_ name: String) throws -> Content {
    try JSONDecoder().decode(Content.self, from: Data(Fixture.bytes("vectors/\(name).json")))
}

private func decoded(_ text: String) throws -> [UInt8] {
    try #require(Base64.decode(text, alphabet: .url))
}

@Suite struct SignatureTests {
    private let examples: TokenExamples

    init() throws { examples = try read("rfc7515") }

    private func rsaKey() throws -> PublicKey {
        try PublicKey(modulus: decoded(examples.rs256.n), exponent: decoded(examples.rs256.e))
    }

    private func curveKey() throws -> PublicKey {
        try PublicKey(x: decoded(examples.es256.x), y: decoded(examples.es256.y))
    }

    @Test func `each Wycheproof signature on P-256 is accepted or refused as its vector says`() throws {
        let vectors: CurveVectors = try read("ecdsa_p256_sha256_p1363")
        #expect(vectors.tests.count > 100)
        for vector in vectors.tests {
            let point = try Hex.decode(vector.point)
            let key = try PublicKey(x: Array(point[1...32]), y: Array(point[33...64]))
            let isValid = try key.isValid(
                signature: Hex.decode(vector.signature), of: Hex.decode(vector.message))
            #expect(isValid == vector.isValid, "\(vector.id): \(vector.comment)")
        }
    }

    @Test func `the examples of RFC 7515 are accepted by their key and by no other`() throws {
        let rs256 = try SignedToken(examples.rs256.token)
        let es256 = try SignedToken(examples.es256.token)
        #expect(try rs256.isSigned(by: rsaKey()))
        #expect(try es256.isSigned(by: curveKey()))
        #expect(try !rs256.isSigned(by: curveKey()))
        #expect(try !es256.isSigned(by: rsaKey()))
        #expect(String(decoding: rs256.header, as: UTF8.self) == #"{"alg":"RS256"}"#)
        #expect(String(decoding: es256.claims, as: UTF8.self).hasPrefix(#"{"iss":"joe","#))
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `one changed bit anywhere in message or signature is refused`(
        _ algorithm: SignatureAlgorithm
    ) throws {
        let key = try SigningKey(for: algorithm)
        let message = Array("a message of some length".utf8)
        let signature = try key.signature(of: message)
        #expect(key.publicKey.isValid(signature: signature, of: message))
        for bit in message.indices.map({ $0 * 8 + $0 % 8 }) {
            #expect(!key.publicKey.isValid(signature: signature, of: flipping(bit, of: message)))
        }
        for bit in signature.indices.map({ $0 * 8 + $0 % 8 }) {
            #expect(!key.publicKey.isValid(signature: flipping(bit, of: signature), of: message))
        }
        #expect(!key.publicKey.isValid(signature: Array(signature.dropLast()), of: message))
        #expect(!key.publicKey.isValid(signature: signature + [0], of: message))
        #expect(!key.publicKey.isValid(signature: [], of: message))
    }

    @Test func `RSA keys outside 2048 to 8192 bits and odd numbers are refused`() throws {
        let modulus = try decoded(examples.rs256.n)
        let exponent = try decoded(examples.rs256.e)
        let large = [UInt8](repeating: 0xFF, count: 1024)
        let accepted: [(modulus: [UInt8], exponent: [UInt8])] = [
            (modulus, exponent), ([0] + modulus, [0] + exponent), (modulus, [3]), (large, exponent),
        ]
        for numbers in accepted {
            #expect(throws: Never.self) {
                try PublicKey(modulus: numbers.modulus, exponent: numbers.exponent)
            }
        }
        let short = [0x7F] + modulus.dropFirst()
        let even = modulus.dropLast() + [0xA0]
        let refused: [(modulus: [UInt8], exponent: [UInt8])] = [
            (short, exponent), ([1] + large, exponent), (Array(even), exponent), ([], exponent), ([0], [1]),
            (modulus, []), (modulus, [1]), (modulus, [0, 1]), (modulus, [2]),
            (modulus, [UInt8](repeating: 0xFF, count: 9)),
        ]
        for numbers in refused {
            #expect(throws: WireError.publicKeyRefused) {
                try PublicKey(modulus: numbers.modulus, exponent: numbers.exponent)
            }
        }
    }

    @Test func `coordinates that are no point on P-256 are refused`() throws {
        let x = try decoded(examples.es256.x)
        let y = try decoded(examples.es256.y)
        let zero = [UInt8](repeating: 0, count: 32)
        let refused: [(x: [UInt8], y: [UInt8])] = [
            (y, x), (x, flipping(7, of: y)), (zero, zero), (x, [0] + y), (Array(x.dropLast()), y), ([], []),
        ]
        for point in refused {
            #expect(throws: WireError.publicKeyRefused) { try PublicKey(x: point.x, y: point.y) }
        }
    }

    @Test func `a token without exactly three parts of Base64url is refused`() throws {
        let token = examples.es256.token
        let parts = token.split(separator: ".")
        let refused = [
            "", "..", "a.b", token + ".", "." + token, token + "=", " " + token,
            parts[0] + "." + parts[1], token + "." + parts[2] + "." + parts[2],
            parts[0] + ".." + parts[2], token.replacing(".", with: ".\n"),
            token + String(repeating: "A", count: SignedToken.maximumBytes),
        ]
        for text in refused {
            #expect(throws: WireError.tokenMalformed, "\(text.prefix(40))") { try SignedToken(String(text)) }
        }
    }

    @Test func `a PEM key signs tokens that its public key verifies`() throws {
        let keys: PrivateKeys = try read("private_keys")
        let key = try SigningKey(pem: Secret(Array(keys.p256.utf8)))
        let token = try SignedToken(key.sign(Array(#"{"sub":"1"}"#.utf8), keyID: "k1"))
        #expect(token.isSigned(by: key.publicKey))
        #expect(key.publicKey.algorithm == .es256)
        #expect(
            String(decoding: token.header, as: UTF8.self) == #"{"alg":"ES256","typ":"JWT","kid":"k1"}"#)
    }

    @Test func `private keys of another kind or size, or with a password, are refused`() throws {
        let keys: PrivateKeys = try read("private_keys")
        #expect(keys.refused.count == 4)
        for (name, pem) in keys.refused {
            #expect(throws: WireError.signingKeyRefused, "\(name)") {
                try SigningKey(pem: Secret(Array(pem.utf8)))
            }
        }
        #expect(throws: WireError.signingKeyRefused) { try SigningKey(pem: Secret(Array("no key".utf8))) }
        let padded = keys.p256 + String(repeating: "\n", count: SigningKey.maximumBytes)
        #expect(throws: WireError.signingKeyRefused) { try SigningKey(pem: Secret(Array(padded.utf8))) }
    }

    @Test func `the members of a public key state the same key`() throws {
        let rsa = try Dictionary(uniqueKeysWithValues: rsaKey().members.map { ($0.name, $0.value) })
        #expect(rsa == ["kty": "RSA", "n": examples.rs256.n, "e": examples.rs256.e])
        let curve = try Dictionary(uniqueKeysWithValues: curveKey().members.map { ($0.name, $0.value) })
        #expect(
            curve == ["kty": "EC", "crv": "P-256", "x": examples.es256.x, "y": examples.es256.y])
    }

    @Test func `a signing key prints nothing of itself`() throws {
        let key = try SigningKey(for: .es256)
        #expect(!"\(key)".contains("PRIVATE"))
        #expect("\(key)".contains("********"))
    }
}

/// The bytes with one bit inverted.
func flipping(_ bit: Int, of bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[bit / 8] ^= 1 << (bit % 8)
    return bytes
}
