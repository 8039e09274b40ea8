import BalloonJSON
import BalloonWire
import TestSupport
import Testing

@testable import Simulator

@Suite struct MMCSChecksumTests {
    @Test func `the MMCS checksum matches the test vectors`() throws {
        let vectors = try JSONDocument(Fixture.bytes("vectors/attachment_aes256ctr.json")).root["vectors"]
        for vector in try #require(vectors).elements {
            let file = try Hex.decode(try #require(vector["ciphertext_hex"]?.string))
            let checksum = MMCSChecksum(of: file)
            #expect(checksum.hex == vector["mmcs_signature_hex"]?.string)
            #expect(checksum.base64 == vector["mmcs_signature_base64"]?.string)
        }
        #expect(try #require(vectors).count == 3)
    }

    @Test(arguments: [0, 1, 4, 5, 6, 7, 8, 63, 64, 65, 1000])
    func `inputs of every length have distinct checksums of 21 bytes`(length: Int) {
        let file = [UInt8](repeating: 7, count: length)
        #expect(MMCSChecksum(of: file).bytes.count == 21)
        #expect(MMCSChecksum(of: file) != MMCSChecksum(of: file + [7]))
    }
}
