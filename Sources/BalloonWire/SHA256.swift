internal import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// Computes the 32 bytes of the hash of `bytes`.
    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            // The digest has 32 bytes, which is the capacity.
            let status = bytes.withSpan { bytes in
                unsafe bytes.withUnsafeBufferPointer { input in
                    unsafe EVP_Digest(
                        input.baseAddress, input.count, digest.baseAddress, nil, EVP_sha256(), nil)
                }
            }
            precondition(status == 1, "OpenSSL has no SHA-256")
            count = 32
        }
    }
}
