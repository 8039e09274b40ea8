/// The key of one attachment or payload, used for nothing else.
///
/// A message contains the key as `00` and 64 hexadecimal digits.
package struct AttachmentKey: Sendable, Equatable {
    /// The 32 bytes for `AES256CTR`.
    package let secret: Secret

    /// Creates a new random key.
    package init() { secret = .random(byteCount: 32) }

    /// Parses the field `key` of an attachment or payload reference.
    ///
    /// Throws `WireError.hexMalformed`, `.attachmentKeyPrefix` or `.keyLength`.
    package init(field: String) throws(WireError) {
        let bytes = try Hex.decode(field)
        guard bytes.first == 0 else { throw .attachmentKeyPrefix }
        guard bytes.count == 33 else { throw .keyLength(expectedBytes: 32, actualBytes: bytes.count - 1) }
        secret = try Secret(Array(bytes.dropFirst()))
    }

    /// The value of the field `key` in lower case; as secret as the key itself.
    package var field: String { "00" + Hex.encode(secret.bytes) }
}
