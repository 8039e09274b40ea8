internal import COpenSSL

/// AES-256-GCM with nonces of 16 bytes (NIST SP 800-38D); a sealed text is the ciphertext and a tag of 16 bytes.
enum AES256GCM {
    static let tagBytes = Int(BALLOON_GCM_TAG_BYTES)
    static let nonceBytes = 16

    /// Encrypts `plain`, and returns `prefix` and the sealed text; nil when OpenSSL fails.
    ///
    /// The key has 32 bytes, and the nonce 16.
    static func seal(
        _ plain: [UInt8], key: [UInt8], nonce: [UInt8], after prefix: [UInt8] = []
    ) -> [UInt8]? {
        var text = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: tagBytes)
        // Sound: key and nonce have 32 and 16 bytes, the tag 16, and `text` the size of `plain`.
        let status = unsafe balloon_seal_gcm(key, nonce, plain, plain.count, &text, &tag)
        return status == 1 ? prefix + text + tag : nil
    }

    /// Decrypts a sealed text of at least ``tagBytes``; nil when it was sealed with another key or nonce, or changed.
    static func open(_ sealed: ArraySlice<UInt8>, key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        let text = Array(sealed.dropLast(tagBytes))
        var plain = [UInt8](repeating: 0, count: text.count)
        // Sound: as in `seal`.
        let status = unsafe balloon_open_gcm(
            key, nonce, text, text.count, Array(sealed.suffix(tagBytes)), &plain)
        return status == 1 ? plain : nil
    }
}
