internal import COpenSSL

/// AES-256 in counter mode, with a counter from zero, as Apple encrypts attachments and payload references.
///
/// Encrypting and decrypting are the same operation. The mode has no authentication: every key decrypts to
/// some plain text. The counter may start at zero only because each key encrypts a single plain text (Apple
/// Business Chat API, "Encrypting an Attachment").
@safe package final class AES256CTR {
    private let context: OpaquePointer?

    /// Creates a cipher at the start of its key stream; throws `WireError.keyLength` unless `key` has 32
    /// bytes.
    package init(key: Secret) throws(WireError) {
        guard key.bytes.count == 32 else {
            throw .keyLength(expectedBytes: 32, actualBytes: key.bytes.count)
        }
        let context = unsafe EVP_CIPHER_CTX_new()
        unsafe self.context = context
        let counter = [UInt8](repeating: 0, count: 16)
        // Sound: the key has 32 bytes and the counter 16, as the cipher expects; it copies both.
        let isKeyed =
            unsafe context != nil
            && EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nil, key.bytes, counter) == 1
        precondition(isKeyed, "OpenSSL has no AES-256-CTR, or no memory")
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts `bytes` in place; the key stream continues where the previous call ended.
    package func apply(to bytes: inout [UInt8]) {
        // OpenSSL counts the bytes of one call in a C int, so longer input needs several calls.
        var start = 0
        while start < bytes.count {
            let count = min(bytes.count - start, 1 << 30)
            var span = bytes.mutableSpan
            unsafe span.withUnsafeMutableBytes { buffer in
                var written: Int32 = 0
                // Sound: in-place operation is allowed (EVP_EncryptUpdate); a stream cipher writes as many
                // bytes as it reads, and `start + count` is within the buffer.
                let bytes = unsafe buffer.baseAddress?.advanced(by: start).assumingMemoryBound(to: UInt8.self)
                let status = unsafe EVP_EncryptUpdate(context, bytes, &written, bytes, Int32(count))
                precondition(status == 1 && Int(written) == count, "OpenSSL failed to apply AES-256-CTR")
            }
            start += count
        }
    }
}
