internal import BalloonJSON

/// A file that goes with a message, already uploaded and encrypted.
///
/// ```json
/// {"name": "offer.pdf", "mimeType": "application/pdf", "size": "148861", "signature-base64": "gT6/…",
///  "url": "https://p29-content.icloud.com/MY57…", "owner": "MY57…", "key": "00AB…"}
/// ```
/// Apple MSP API, "Sending Messages with Attachments". The upload gives every field but the first two; it stays
/// with Apple for 30 days.
public struct OutboundAttachment: Hashable, Sendable {
    /// The file's name as the customer sees it.
    public let name: String
    /// The media type; Apple refuses none.
    public let mimeType: String
    /// The length of the encrypted file, at most 100 MB; written as a string, as Apple demands.
    public let sizeBytes: Int
    /// The checksum that the upload answered, in Base64.
    public let signatureBase64: String
    /// The `mmcs-url` that `preUpload` answered.
    public let url: String
    /// The `mmcs-owner` that `preUpload` answered.
    public let owner: String
    /// `00` and 64 hexadecimal digits: the AES-256 key.
    public let key: String

    /// Makes an attachment from what the upload answered.
    public init(
        name: String, mimeType: String, sizeBytes: Int, signatureBase64: String, url: String, owner: String,
        key: String
    ) {
        self.name = name
        self.mimeType = mimeType
        self.sizeBytes = sizeBytes
        self.signatureBase64 = signatureBase64
        self.url = url
        self.owner = owner
        self.key = key
    }

    /// Writes the object.
    package var json: [UInt8] {
        var writer = JSONWriter(reservingCapacity: 512)
        write(to: &writer)
        return writer.finish()
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("name", name)
            writer.field("mimeType", mimeType)
            writer.field("size", String(sizeBytes))
            writer.field("signature-base64", signatureBase64)
            writer.field("url", url)
            writer.field("owner", owner)
            writer.field("key", key)
        }
    }
}
