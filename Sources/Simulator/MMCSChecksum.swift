import BalloonJSON
import BalloonWire

/// The 21-byte checksum by which Apple's file store identifies an encrypted file.
///
/// It is the byte `0x81`, followed by the SHA-1 of a salt and the file. iMessage clients use this checksum;
/// it is an assumption that business messages use it too. The server must not rely on it for security.
struct MMCSChecksum: Sendable, Equatable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(of file: [UInt8]) {
        let checksum = AttachmentChecksum()
        checksum.append(file)
        bytes = checksum.bytes
    }

    /// The field `signature`.
    var hex: String { Hex.encode(bytes) }
    /// The field `signature-base64`, and the header `MMCS-Signature`.
    var base64: String { Base64.encode(bytes) }
}
