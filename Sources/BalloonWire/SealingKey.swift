import COpenSSL

/// A key of AES-256-GCM for texts that are kept elsewhere (NIST SP 800-38D).
///
/// A sealed text is a random nonce of 16 bytes, the ciphertext, and a tag of 16 bytes.
package struct SealingKey: Sendable, Equatable {
    private let key: Secret
    /// The bytes that a sealed text has more than its plain one.
    package static let overheadBytes = nonceBytes + tagBytes
    private static let nonceBytes = 16
    private static let tagBytes = Int(BALLOON_GCM_TAG_BYTES)

    /// Creates a key; nil unless the secret has 32 bytes.
    package init?(_ secret: Secret) {
        guard secret.bytes.count == 32 else { return nil }
        key = secret
    }

    /// Encrypts a text.
    package func seal(_ plain: [UInt8]) -> [UInt8] {
        let nonce = randomBytes(Self.nonceBytes)
        var text = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        // Sound: key and nonce have 32 and 16 bytes, the tag 16, and `text` the size of `plain`.
        let status = unsafe balloon_seal_gcm(key.bytes, nonce, plain, plain.count, &text, &tag)
        precondition(status == 1, "OpenSSL has AES-256-GCM")
        return nonce + text + tag
    }

    /// Decrypts a text; nil when it was sealed with another key, or changed.
    package func open(_ sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.overheadBytes else { return nil }
        let text = Array(sealed[Self.nonceBytes..<sealed.count - Self.tagBytes])
        var plain = [UInt8](repeating: 0, count: text.count)
        // Sound: as in `seal`.
        let status = unsafe balloon_open_gcm(
            key.bytes, Array(sealed.prefix(Self.nonceBytes)), text, text.count,
            Array(sealed.suffix(Self.tagBytes)), &plain)
        return status == 1 ? plain : nil
    }
}
