import BalloonWire
import Testing

@Suite struct ChecksumTests {
    @Test func `CRC-32 has its check value`() {
        #expect(CRC32.checksum(of: "123456789".utf8) == 0xcbf4_3926)
        #expect(CRC32.checksum(of: "".utf8) == 0)
    }

    @Test func `CRC-32 of parts is that of the whole`() {
        let bytes = Array("123456789".utf8)
        for split in 0...bytes.count {
            let first = CRC32.checksum(of: bytes[..<split])
            #expect(CRC32.checksum(of: bytes[split...], after: first) == 0xcbf4_3926)
        }
    }

    // FIPS 180-4, the examples of NIST.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 has the values of its standard`(text: String, hash: String) {
        #expect(Hex.encode(SHA256.hash(text.utf8)) == hash)
    }
}
