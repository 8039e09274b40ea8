internal import COpenSSL

/// Encryption to a P-384 key, as a device encrypts the token of an authentication of version 1.
///
/// A sealed text is an ephemeral point of 97 bytes, the encrypted bytes, and a tag of 16 bytes. The cipher is
/// AES-256-GCM. Its key and nonce are the 48 bytes of the X9.63 key derivation with SHA-256, with the
/// ephemeral point as shared information. Apple's name is `eciesEncryptionCofactorVariableIVX963SHA256AESGCM`
/// (Apple MSP API sample, `auth_util`).
package enum ECIES {
    static let scalarBytes = BALLOON_P384_SCALAR_BYTES
    static let pointBytes = BALLOON_P384_POINT_BYTES

    /// The maximum bytes of a sealed text.
    package static let maximumBytes = 65_536

    /// Decrypts `sealed` with the private number of a key pair; takes 0.9 ms.
    ///
    /// The number may lack its leading zeros. Throws `WireError.sealedTokenRefused` when the text has less
    /// than 114 bytes, its point is not on the curve, it was encrypted to another key, or any bit was
    /// changed.
    package static func open(_ sealed: [UInt8], scalar: Secret) throws(WireError) -> [UInt8] {
        guard sealed.count > pointBytes + AES256GCM.tagBytes, sealed.count <= maximumBytes else {
            throw .sealedTokenRefused
        }
        let point = Array(sealed.prefix(pointBytes))
        let key = try derivedKey(scalar: scalar, peer: point, sharedInformation: point)
        guard
            let plain = AES256GCM.open(
                sealed.dropFirst(pointBytes), key: Array(key[..<32]), nonce: Array(key[32...]))
        else { throw .sealedTokenRefused }
        return plain
    }

    /// Encrypts `plain` to a public key of 97 bytes, as a device does; `plain` must have at least one byte.
    ///
    /// Throws `WireError.sealedTokenRefused` when the key is not a point on the curve.
    package static func seal(_ plain: [UInt8], to point: [UInt8]) throws(WireError) -> [UInt8] {
        let limit = maximumBytes - pointBytes - AES256GCM.tagBytes
        guard point.count == pointBytes, (1...limit).contains(plain.count) else { throw .sealedTokenRefused }
        let pair = try P384KeyPair()
        let key = try derivedKey(scalar: pair.scalar, peer: point, sharedInformation: pair.point)
        guard
            let sealed = AES256GCM.seal(
                plain, key: Array(key[..<32]), nonce: Array(key[32...]), after: pair.point)
        else { throw .sealedTokenRefused }
        return sealed
    }

    /// Returns the 48 bytes of key and nonce (SEC 1 §3.6.1).
    ///
    /// A counter of four bytes, which starts at 1, follows the shared secret.
    private static func derivedKey(
        scalar: Secret, peer: [UInt8], sharedInformation: [UInt8]
    ) throws(WireError) -> [UInt8] {
        var secret = [UInt8](repeating: 0, count: scalarBytes)
        let number = scalar.bytes
        // Sound: the number comes with its count, the point has 97 bytes, and 48 bytes are written.
        guard number.count <= scalarBytes, peer.count == pointBytes,
            unsafe balloon_agree_p384(number, number.count, peer, &secret) == 1
        else { throw .sealedTokenRefused }
        let blocks = (1...2).flatMap { SHA256.hash(secret + [0, 0, 0, UInt8($0)] + sharedInformation) }
        return Array(blocks.prefix(48))
    }
}
