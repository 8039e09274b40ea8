package import BalloonWire
package import BusinessMessages

/// An encrypted file that Apple stores for 30 days, with the values that a reference to it needs.
package struct UploadedFile: Sendable, Equatable {
    /// The length of the encrypted file, which equals the length of the original.
    package let sizeBytes: Int
    /// The checksum that Apple computed, in Base64.
    package let signatureBase64: String
    /// The `mmcs-url` of `preUpload`.
    package let url: String
    /// The `mmcs-owner` of `preUpload`.
    package let owner: String
    /// The key, used for this file only.
    package let key: AttachmentKey

    /// Returns the file as an attachment of a text message.
    package func attachment(name: String, mimeType: String) -> OutboundAttachment {
        OutboundAttachment(
            name: name, mimeType: mimeType, sizeBytes: sizeBytes, signatureBase64: signatureBase64, url: url,
            owner: owner, key: key.field)
    }

    /// Returns the file as the content of an interactive message.
    package func payload(bid: String, title: String?) -> UploadedPayload {
        UploadedPayload(
            bid: bid, title: title, url: url, owner: owner, sizeBytes: sizeBytes,
            signatureBase64: signatureBase64, key: key.field)
    }
}
