import BalloonJSON
import BalloonWire
import FoundationEssentials
import TestSupport
import Testing

/// The content of `Tests/TestSupport/Fixtures/vectors/auth_v1_ecies_p384.json`.
private struct TokenVector: Decodable {
    let responseEncryptionKeyBase64: String
    let privateScalarBase64Be48: String
    let tokenPlaintextUtf8: String
    let encryptedTokenBase64: String
    let tamperedTokenBase64: String

    private enum CodingKeys: String, CodingKey {
        case responseEncryptionKeyBase64 = "responseEncryptionKey_base64"
        case privateScalarBase64Be48 = "private_scalar_base64_be48"
        case tokenPlaintextUtf8 = "token_plaintext_utf8"
        case encryptedTokenBase64 = "encrypted_token_base64"
        case tamperedTokenBase64 = "tampered_token_base64"
    }
}

@Suite struct ECIESTests {
    private let plain: String
    private let sealed: [UInt8]
    private let tampered: [UInt8]
    private let point: [UInt8]
    private let scalar: Secret

    init() throws {
        let file = Data(Fixture.bytes("vectors/auth_v1_ecies_p384.json"))
        let vector = try JSONDecoder().decode(TokenVector.self, from: file)
        plain = vector.tokenPlaintextUtf8
        sealed = try #require(Base64.decode(vector.encryptedTokenBase64))
        tampered = try #require(Base64.decode(vector.tamperedTokenBase64))
        point = try #require(Base64.decode(vector.responseEncryptionKeyBase64))
        scalar = try Secret(base64: vector.privateScalarBase64Be48)
    }

    private func open(_ sealed: [UInt8]) throws -> String {
        String(decoding: try ECIES.open(sealed, scalar: scalar), as: UTF8.self)
    }

    @Test func `the token of the vector opens, and the changed one does not`() throws {
        #expect(try open(sealed) == plain)
        #expect(throws: WireError.sealedTokenRefused) { try open(tampered) }
    }

    @Test func `one changed bit in point, text or tag is refused`() throws {
        for byte in stride(from: 0, to: sealed.count, by: 3) {
            #expect(throws: WireError.sealedTokenRefused, "byte \(byte)") {
                try open(flipping(byte * 8 + byte % 8, of: sealed))
            }
        }
    }

    @Test func `texts of other lengths are refused`() throws {
        for count in [0, 1, 96, 97, 112, 113] {
            #expect(throws: WireError.sealedTokenRefused) { try open(Array(sealed.prefix(count))) }
        }
        #expect(throws: WireError.sealedTokenRefused) { try open(Array(sealed.dropLast())) }
        #expect(throws: WireError.sealedTokenRefused) { try open(sealed + [0]) }
        let long = sealed + [UInt8](repeating: 0, count: ECIES.maximumBytes)
        #expect(throws: WireError.sealedTokenRefused) { try open(long) }
    }

    @Test func `a point off the curve and the point at infinity are refused`() throws {
        let rest = sealed[97...]
        let infinity = [UInt8](repeating: 0, count: 97)
        let swapped = [4] + sealed[49..<97] + sealed[1..<49]
        for point in [infinity, [4] + infinity.dropFirst(), Array(swapped)] {
            #expect(throws: WireError.sealedTokenRefused) { try open(point + rest) }
            #expect(throws: WireError.sealedTokenRefused) { try ECIES.seal([1], to: point) }
        }
    }

    @Test func `a token that was sealed to a pair opens with its number and with no other`() throws {
        let pair = try P384KeyPair()
        #expect(pair.point.count == 97)
        #expect(pair.scalar.bytes.count == 48)
        let token = try ECIES.seal(Array("a token".utf8), to: pair.point)
        #expect(try ECIES.open(token, scalar: pair.scalar) == Array("a token".utf8))
        #expect(throws: WireError.sealedTokenRefused) { try ECIES.open(token, scalar: scalar) }
        let other = try ECIES.seal(Array("a token".utf8), to: point)
        #expect(try open(other) == "a token")
        #expect(other != token)
    }

    @Test func `a number that was written without its leading zeros opens its tokens`() throws {
        // One pair of 256 has a number with a leading zero, so this number is made to have one.
        var number = scalar.bytes
        number[0] = 0
        let short = try Secret(Array(number.dropFirst()))
        #expect(short.bytes.count == 47)
        let long = try Secret(number)
        // Both forms fail or open alike: the vector's token belongs to another number, so both refuse it.
        #expect(throws: WireError.sealedTokenRefused) { try ECIES.open(sealed, scalar: short) }
        #expect(throws: WireError.sealedTokenRefused) { try ECIES.open(sealed, scalar: long) }
        let pair = try pairWithLeadingZero()
        let token = try ECIES.seal(Array("short".utf8), to: pair.point)
        let trimmed = try Secret(Array(pair.scalar.bytes.dropFirst()))
        #expect(try ECIES.open(token, scalar: trimmed) == Array("short".utf8))
    }

    private func pairWithLeadingZero() throws -> P384KeyPair {
        while true {
            let pair = try P384KeyPair()
            if pair.scalar.bytes[0] == 0 { return pair }
        }
    }

    @Test func `numbers outside the curve's order are refused`() throws {
        let zero = try Secret([UInt8](repeating: 0, count: 48))
        let large = try Secret([UInt8](repeating: 0xFF, count: 48))
        let long = try Secret([0] + scalar.bytes)
        for number in [zero, large, long] {
            #expect(throws: WireError.sealedTokenRefused) { try ECIES.open(sealed, scalar: number) }
        }
    }
}
