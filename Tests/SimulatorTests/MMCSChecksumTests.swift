import BalloonJSON
import BalloonWire
import TestSupport
import Testing

@Suite struct MMCSChecksumTests {
    @Test func `the MMCS checksum matches the test vectors`() throws {
        let vectors = try JSONDocument(Fixture.bytes("vectors/attachment_aes256ctr.json")).root["vectors"]
        for vector in try #require(vectors).elements {
            let file = try Hex.decode(try #require(vector["ciphertext_hex"]?.string))
            let checksum = mmcsChecksum(of: file)
            #expect(Hex.encode(checksum) == vector["mmcs_signature_hex"]?.string)
            #expect(Base64.encode(checksum) == vector["mmcs_signature_base64"]?.string)
        }
        #expect(try #require(vectors).count == 3)
    }

    @Test(arguments: [0, 1, 4, 5, 6, 7, 8, 63, 64, 65, 1000])
    func `inputs of every length have distinct checksums of 21 bytes`(length: Int) {
        let file = [UInt8](repeating: 7, count: length)
        #expect(mmcsChecksum(of: file).count == 21)
        #expect(mmcsChecksum(of: file) != mmcsChecksum(of: file + [7]))
    }
}

/// The checksum of a whole file, computed as the simulated gateway does for an upload.
func mmcsChecksum(of file: [UInt8]) -> [UInt8] {
    let checksum = AttachmentChecksum()
    checksum.append(file)
    return checksum.bytes
}
