internal import COpenSSL

/// SHA-256 (FIPS 180-4) of long content such as a file, computed incrementally.
///
/// Unlike ``SHA256``, a stream cannot be copied.
@safe package struct SHA256Stream: ~Copyable {
    private let context: OpaquePointer?

    /// Creates the hash of no bytes.
    package init() {
        unsafe context = EVP_MD_CTX_new()
        let isReady = unsafe context != nil && EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        precondition(isReady, "OpenSSL has no SHA-256, or no memory")
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds the next bytes.
    package func append(_ bytes: [UInt8]) {
        // Sound: OpenSSL reads exactly the array's bytes.
        let status = unsafe EVP_DigestUpdate(context, bytes, bytes.count)
        precondition(status == 1, "OpenSSL failed to compute SHA-256")
    }

    /// The 32-byte hash of all added bytes; ends the computation.
    package var bytes: [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // Sound: SHA-256 writes 32 bytes, which fit.
        let status = unsafe EVP_DigestFinal_ex(context, &digest, nil)
        precondition(status == 1, "OpenSSL failed to compute SHA-256")
        return digest
    }
}
