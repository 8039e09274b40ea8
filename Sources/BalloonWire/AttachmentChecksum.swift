internal import COpenSSL

/// The checksum by which Apple's file store identifies an encrypted file, computed incrementally.
///
/// The checksum has 21 bytes: `0x81`, and the SHA-1 of a salt and the file. iMessage clients use this
/// algorithm; that business messages use the same one is an assumption. The checksum detects damage, but not
/// manipulation.
@safe package struct AttachmentChecksum: ~Copyable {
    private let context: OpaquePointer?

    /// Starts with the checksum of an empty file.
    package init() {
        unsafe context = EVP_MD_CTX_new()
        let isReady = unsafe context != nil && EVP_DigestInit_ex(context, EVP_sha1(), nil) == 1
        precondition(isReady, "OpenSSL has no SHA-1, or no memory")
        append(Array("com.apple.XattrObjectSalt\0com.apple.DataObjectSalt\0".utf8))
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds the next bytes of the encrypted file.
    package func append(_ bytes: [UInt8]) {
        // Sound: OpenSSL reads exactly the array's bytes.
        let status = unsafe EVP_DigestUpdate(context, bytes, bytes.count)
        precondition(status == 1, "OpenSSL failed to compute SHA-1")
    }

    /// The checksum of all added bytes; ends the computation.
    package var bytes: [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        // Sound: SHA-1 writes 20 bytes, which fit.
        let status = unsafe EVP_DigestFinal_ex(context, &digest, nil)
        precondition(status == 1, "OpenSSL failed to compute SHA-1")
        return [0x81] + digest
    }
}
