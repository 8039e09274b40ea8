package import BalloonWire
package import BusinessMessages

/// The reference to a file that Apple stores: the common fields of attachments and payload references.
package struct StoredReference: Sendable, Equatable {
    /// The value of the header `MMCS-Url`.
    package let url: String
    /// The value of the header `MMCS-Owner`.
    package let owner: String
    /// The value of the header `MMCS-Signature`: the checksum in Base64.
    package let signature: String
    /// The parsed key.
    package let key: AttachmentKey
    /// The length of the encrypted file, if the message states it.
    package let sizeBytes: Int?

    /// Reads the fields of an attachment; throws ``GatewayError/referenceMalformed(field:)``.
    package init(_ attachment: Attachment) throws(GatewayError) {
        try self.init(
            url: attachment.url, owner: attachment.owner, key: attachment.key,
            signature: attachment.signature, signatureBase64: attachment.signatureBase64,
            sizeBytes: attachment.sizeBytes)
    }

    init(_ reference: PayloadReference) throws(GatewayError) {
        try self.init(
            url: reference.url, owner: reference.owner, key: reference.key, signature: reference.signature,
            signatureBase64: reference.signatureBase64, sizeBytes: reference.sizeBytes)
    }

    private init(
        url: String?, owner: String?, key: String?, signature: String?, signatureBase64: String?,
        sizeBytes: Int?
    ) throws(GatewayError) {
        self.url = try Self.field("url", url)
        self.owner = try Self.field("owner", owner)
        self.signature = try Self.field("signature", Self.signature(signature, signatureBase64))
        let field = try Self.field("key", key)
        do { self.key = try AttachmentKey(field: field) } catch { throw .referenceMalformed(field: "key") }
        self.sizeBytes = sizeBytes
    }

    /// Returns the signature in Base64, as the header needs it; nil when neither field has a valid one.
    ///
    /// The Base64 field has the current name and is preferred, because in Apple's own sample the two fields
    /// differ.
    private static func signature(_ hex: String?, _ base64: String?) -> String? {
        // Treat invalid hexadecimal text as absent.
        base64 ?? hex.flatMap { try? Hex.decode($0) }.map { Base64.encode($0) }
    }

    /// Returns the value if it may be sent as a header; throws when it is missing or malformed.
    private static func field(_ name: String, _ value: String?) throws(GatewayError) -> String {
        guard let value, !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .referenceMalformed(field: name)
        }
        return value
    }
}
