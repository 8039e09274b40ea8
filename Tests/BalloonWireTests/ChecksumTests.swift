import Testing

@testable import BalloonWire

@Suite struct ChecksumTests {
    @Test func `CRC-32 of the digits 1 to 9 is the published check value`() {
        #expect(CRC32.checksum(of: "123456789".utf8) == 0xcbf4_3926)
        #expect(CRC32.checksum(of: "".utf8) == 0)
    }

    @Test func `CRC-32 computed in parts equals CRC-32 of the whole`() {
        let bytes = Array("123456789".utf8)
        for split in 0...bytes.count {
            let first = CRC32.checksum(of: bytes[..<split])
            #expect(CRC32.checksum(of: bytes[split...], after: first) == 0xcbf4_3926)
        }
    }

    // The examples that NIST publishes for FIPS 180-4.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 has the values of FIPS 180-4`(text: String, hash: String) {
        #expect(Hex.encode(SHA256.hash(text.utf8)) == hash)
    }

    @Test func `SHA-256 computed in parts equals SHA-256 of the whole`() {
        let bytes = Array((0..<200).map { UInt8($0) })
        for split in 0...bytes.count {
            let (first, second) = (Array(bytes[..<split]), Array(bytes[split...]))
            var hash = SHA256()
            hash.update(first.span)
            hash.update(second.span)
            let digest = hash.finish()
            #expect(digest.indices.map { digest[$0] } == SHA256.hash(bytes))
        }
    }

    // The test cases of RFC 4231 §4.3 and §4.7: a short key, and a key that is longer than a block.
    @Test(
        arguments: [
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ] as [([UInt8], String, String)])
    func `HMAC-SHA-256 has the values of RFC 4231`(key: [UInt8], text: String, tag: String) throws {
        let hmac = HMACSHA256(key: try Secret(key))
        for _ in 1...2 {
            let bytes = hmac.tag(of: text.utf8.span)
            #expect(Hex.encode(bytes.indices.map { bytes[$0] }) == tag)
        }
    }
}
