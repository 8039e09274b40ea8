package import BalloonWire
package import BusinessMessages

/// A file that Apple keeps encrypted for 30 days, and all that is needed to refer to it.
package struct UploadedFile: Sendable, Equatable {
    /// The length of the encrypted file, which is that of the file.
    package let sizeBytes: Int
    /// The checksum that Apple computed, in Base64.
    package let signatureBase64: String
    /// The `mmcs-url` of `preUpload`.
    package let url: String
    /// The `mmcs-owner` of `preUpload`.
    package let owner: String
    /// The key of this file and no other.
    package let key: AttachmentKey

    /// The file as part of a text.
    package func attachment(name: String, mimeType: String) -> OutboundAttachment {
        OutboundAttachment(
            name: name, mimeType: mimeType, sizeBytes: sizeBytes, signatureBase64: signatureBase64, url: url,
            owner: owner, key: key.field)
    }

    /// The file as the content of an interactive message.
    package func payload(bid: String, title: String?) -> UploadedPayload {
        UploadedPayload(
            bid: bid, title: title, url: url, owner: owner, sizeBytes: sizeBytes,
            signatureBase64: signatureBase64, key: key.field)
    }
}
