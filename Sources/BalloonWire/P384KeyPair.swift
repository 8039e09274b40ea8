internal import COpenSSL

/// A new P-384 key pair: the public key to which a device encrypts its token, and the private number that
/// decrypts it.
package struct P384KeyPair: Sendable {
    /// The private number, 48 bytes in big-endian order.
    package let scalar: Secret
    /// The public key: 97 bytes, `04` and both coordinates (ANSI X9.63, uncompressed).
    package let point: [UInt8]

    /// Creates a pair; takes 0.9 ms.
    ///
    /// Throws `WireError.sealedTokenRefused` only without memory.
    package init() throws(WireError) {
        var scalar = [UInt8](repeating: 0, count: ECIES.scalarBytes)
        var point = [UInt8](repeating: 0, count: ECIES.pointBytes)
        // Sound: both buffers have the sizes that the call fills.
        guard unsafe balloon_create_p384(&scalar, &point) == 1 else { throw .sealedTokenRefused }
        self.scalar = try Secret(scalar)
        self.point = point
    }
}
