import BalloonJSON
package import BalloonWire
package import BusinessMessages

/// What names a file at Apple's: the part that attachments and payload references have in common.
package struct StoredReference: Sendable, Equatable {
    /// The value of the header `MMCS-Url`.
    package let url: String
    /// The value of the header `MMCS-Owner`.
    package let owner: String
    /// The value of the header `MMCS-Signature`: the checksum in Base64.
    package let signature: String
    /// The key as Balloon reads it.
    package let key: AttachmentKey
    /// The length of the encrypted file, where the message says it.
    package let sizeBytes: Int?

    /// Takes an attachment's fields; throws ``GatewayError/referenceMalformed(field:)``.
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

    /// The header's value is Base64; in Apple's own sample the two fields differ, and that one is the current name.
    private static func signature(_ hex: String?, _ base64: String?) -> String? {
        // Text that is no hexadecimal is as good as none.
        base64 ?? hex.flatMap { try? Hex.decode($0) }.map { Base64.encode($0) }
    }

    /// What can be a header's value.
    private static func field(_ name: String, _ value: String?) throws(GatewayError) -> String {
        guard let value, !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .referenceMalformed(field: name)
        }
        return value
    }
}
