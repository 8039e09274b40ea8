internal import BalloonJSON
internal import COpenSSL

/// SHA-256 (FIPS 180-4), computed incrementally.
package struct SHA256 {
    private var state = balloon_sha256()

    /// Creates the hash of no bytes.
    package init() { unsafe balloon_sha256_begin(&state) }

    /// Adds the next bytes.
    package mutating func update(_ bytes: Span<UInt8>) {
        // Sound: the call reads exactly the span's bytes.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe balloon_sha256_update(&state, bytes.baseAddress, bytes.count)
        }
    }

    /// Returns the hash of all added bytes.
    package consuming func finish() -> InlineArray<32, UInt8> {
        var digest = InlineArray<32, UInt8>(repeating: 0)
        var output = digest.mutableSpan
        // Sound: 32 bytes are written, which is the size.
        unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe balloon_sha256_end(&state, output.baseAddress)
        }
        return digest
    }

    /// The 32 bytes of the hash of all added bytes.
    package var digest: [UInt8] {
        let digest = finish()
        return digest.indices.map { digest[$0] }
    }

    /// Computes the 32 bytes of the hash of `bytes`.
    @specialized(where Bytes == [UInt8])
    @specialized(where Bytes == String.UTF8View)
    package static func hash<Bytes: Collection<UInt8>>(_ bytes: Bytes) -> [UInt8] {
        bytes.withSpan { bytes in
            var hash = SHA256()
            hash.update(bytes)
            return hash.digest
        }
    }
}
