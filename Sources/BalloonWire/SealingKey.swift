/// A key of AES-256-GCM for texts that are kept elsewhere (NIST SP 800-38D).
///
/// A sealed text is a random nonce of 16 bytes, the ciphertext, and a tag of 16 bytes.
package struct SealingKey: Sendable, Equatable {
    private let key: Secret
    /// The bytes that a sealed text has more than its plain one.
    package static let overheadBytes = AES256GCM.nonceBytes + AES256GCM.tagBytes

    /// Creates a key; nil unless the secret has 32 bytes.
    package init?(_ secret: Secret) {
        guard secret.bytes.count == 32 else { return nil }
        key = secret
    }

    /// Encrypts a text.
    package func seal(_ plain: [UInt8]) -> [UInt8] {
        let nonce = randomBytes(AES256GCM.nonceBytes)
        guard let sealed = AES256GCM.seal(plain, key: key.bytes, nonce: nonce, after: nonce) else {
            preconditionFailure("OpenSSL has AES-256-GCM")
        }
        return sealed
    }

    /// Decrypts a text; nil when it was sealed with another key, or changed.
    package func open(_ sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.overheadBytes else { return nil }
        let nonce = Array(sealed.prefix(AES256GCM.nonceBytes))
        return AES256GCM.open(sealed.dropFirst(AES256GCM.nonceBytes), key: key.bytes, nonce: nonce)
    }
}
