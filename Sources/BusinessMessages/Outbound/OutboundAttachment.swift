package import BalloonJSON

/// A file of a message, already uploaded and encrypted.
///
/// ```json
/// {"name": "offer.pdf", "mimeType": "application/pdf", "size": "148861", "signature-base64": "gT6/…",
///  "url": "https://p29-content.icloud.com/MY57…", "owner": "MY57…", "key": "00AB…"}
/// ```
/// Apple MSP API, "Sending Messages with Attachments". The upload determines every field except `name` and `mimeType`.
/// Apple stores the file for 30 days.
public struct OutboundAttachment: Hashable, Sendable, JSONWritable {
    /// The file name shown to the customer.
    public let name: String
    /// The media type; Apple accepts every type.
    public let mimeType: String
    /// The length of the encrypted file, at most 100 MB; written as a string, as Apple requires.
    public let sizeBytes: Int
    /// The checksum from the upload's answer, in Base64.
    public let signatureBase64: String
    /// The `mmcs-url` that the gateway's `preUpload` returned.
    public let url: String
    /// The `mmcs-owner` that the gateway's `preUpload` returned.
    public let owner: String
    /// The AES-256 key: `00` and 64 hexadecimal digits.
    public let key: String

    /// Creates an attachment from the upload's answer.
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

    /// The attachment as a JSON object.
    package var json: [UInt8] {
        JSONWriter.value(reservingCapacity: 512) { write(to: &$0) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object([
            "name": name, "mimeType": mimeType, "size": String(sizeBytes),
            "signature-base64": signatureBase64, "url": url, "owner": owner, "key": key,
        ])
    }
}
