internal import COpenSSL

/// HMAC-SHA-256 (RFC 2104) with the key schedule computed once; belongs to one isolation domain.
@safe final class HMACSHA256 {
    private let context: OpaquePointer?

    init(key: Secret) {
        unsafe context = key.bytes.withUnsafeBufferPointer { key in
            unsafe balloon_hmac_sha256_new(key.baseAddress, key.count)
        }
        let isKeyed = unsafe context != nil
        precondition(isKeyed, "OpenSSL has no HMAC-SHA-256, or no memory")
    }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// Computes the tag of `bytes`.
    func tag(of bytes: Span<UInt8>) -> InlineArray<32, UInt8> {
        var tag = InlineArray<32, UInt8>(repeating: 0)
        var length = 0
        var output = tag.mutableSpan
        let isComputed = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe output.withUnsafeMutableBufferPointer { output in
                // The context is ours alone and lives as long as self; a NULL key rewinds it to its own key;
                // the tag has 32 bytes, which is the size given.
                unsafe EVP_MAC_init(context, nil, 0, nil) == 1
                    && EVP_MAC_update(context, input.baseAddress, input.count) == 1
                    && EVP_MAC_final(context, output.baseAddress, &length, output.count) == 1
            }
        }
        precondition(isComputed && length == 32, "OpenSSL failed to compute HMAC-SHA-256")
        return tag
    }
}
