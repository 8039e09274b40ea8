internal import COpenSSL

/// SHA-256 (FIPS 180-4), computed piece by piece.
@safe package struct SHA256Stream: ~Copyable {
    private let context: OpaquePointer?

    /// The hash of nothing.
    package init() {
        unsafe context = EVP_MD_CTX_new()
        let isReady = unsafe context != nil && EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        precondition(isReady, "OpenSSL has no SHA-256, or no memory")
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Takes the next bytes.
    package func append(_ bytes: [UInt8]) {
        // Sound: OpenSSL reads as many bytes as the array has.
        let status = unsafe EVP_DigestUpdate(context, bytes, bytes.count)
        precondition(status == 1, "OpenSSL failed to compute SHA-256")
    }

    /// The 32 bytes of the hash of what was taken; ends the computation.
    package var bytes: [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // Sound: SHA-256 has the 32 bytes that there is room for.
        let status = unsafe EVP_DigestFinal_ex(context, &digest, nil)
        precondition(status == 1, "OpenSSL failed to compute SHA-256")
        return digest
    }
}
