import BalloonWire
import FoundationEssentials
import TestSupport
import Testing

/// The content of `Tests/TestSupport/Fixtures/vectors/attachment_aes256ctr.json`.
private struct AttachmentVectors: Decodable {
    struct Vector: Decodable {
        let plaintextHex: String
        let keyField: String
        let keyFieldUpper: String
        let ciphertextHex: String
    }

    let vectors: [Vector]
}

@Suite struct AES256CTRTests {
    private let vectors: [AttachmentVectors.Vector]

    init() throws {
        let file = Data(Fixture.bytes("vectors/attachment_aes256ctr.json"))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        vectors = try decoder.decode(AttachmentVectors.self, from: file).vectors
    }

    @Test func `the fixtures are decrypted with a key in lower or upper case`() throws {
        for vector in vectors {
            for field in [vector.keyField, vector.keyFieldUpper] {
                var bytes = try Hex.decode(vector.ciphertextHex)
                let cipher = try AES256CTR(key: AttachmentKey(field: field).secret)
                cipher.apply(to: &bytes)
                #expect(Hex.encode(bytes) == vector.plaintextHex)
            }
        }
    }

    @Test func `the fixtures are encrypted in parts of any size`() throws {
        let vector = try #require(vectors.last)
        let plain = try Hex.decode(vector.plaintextHex)
        for partBytes in 1...plain.count {
            let cipher = try AES256CTR(key: AttachmentKey(field: vector.keyField).secret)
            var encrypted: [UInt8] = []
            for start in stride(from: 0, to: plain.count, by: partBytes) {
                var part = Array(plain[start..<min(start + partBytes, plain.count)])
                cipher.apply(to: &part)
                encrypted += part
            }
            #expect(Hex.encode(encrypted) == vector.ciphertextHex, "in parts of \(partBytes)")
        }
    }

    @Test(arguments: [1, 16, 31, 33, 64])
    func `a key with a length other than 32 bytes is refused`(byteCount: Int) {
        #expect(throws: WireError.keyLength(expectedBytes: 32, actualBytes: byteCount)) {
            _ = try AES256CTR(key: .random(byteCount: byteCount))
        }
    }

    @Test func `a new key that is written as a field and parsed again is unchanged`() throws {
        let key = AttachmentKey()
        #expect(key.field.hasPrefix("00"))
        #expect(key.field.utf8.count == 66)
        #expect(try AttachmentKey(field: key.field) == key)
        #expect(AttachmentKey() != key)
        #expect("\(key)".contains("********"))
    }

    @Test func `a malformed key field is refused`() {
        let digits = String(repeating: "ab", count: 32)
        #expect(throws: WireError.attachmentKeyPrefix) { try AttachmentKey(field: digits) }
        #expect(throws: WireError.attachmentKeyPrefix) { try AttachmentKey(field: "01" + digits) }
        #expect(throws: WireError.attachmentKeyPrefix) { try AttachmentKey(field: "") }
        #expect(throws: WireError.keyLength(expectedBytes: 32, actualBytes: 31)) {
            try AttachmentKey(field: "00" + digits.dropLast(2))
        }
        #expect(throws: WireError.keyLength(expectedBytes: 32, actualBytes: 0)) {
            try AttachmentKey(field: "00")
        }
        #expect(throws: WireError.hexMalformed) { try AttachmentKey(field: "00" + digits.dropLast()) }
        #expect(throws: WireError.hexMalformed) { try AttachmentKey(field: "00" + digits.dropLast() + "g") }
    }
}
