internal import BalloonJSON
internal import COpenSSL

/// A public key that verifies signatures; its kind fixes the algorithm, so that a token cannot choose it.
///
/// The value contains no OpenSSL objects: each verification creates new ones, which costs less than a tenth
/// of the verification.
package struct PublicKey: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// The uncompressed point, 65 bytes.
        case p256(point: [UInt8])
    }

    /// The sizes of RSA keys that are accepted, in bits.
    package static let rsaBits = 2048...8192

    private let kind: Kind

    /// Creates an RSA key from its two numbers in big-endian order, the members `n` and `e` of a JSON Web
    /// Key.
    ///
    /// Throws `WireError.publicKeyRefused` unless the modulus is odd and has 2,048 to 8,192 bits, and the
    /// exponent is odd, at least 3, and fits 64 bits.
    package init(modulus: [UInt8], exponent: [UInt8]) throws(WireError) {
        // RFC 7518 §6.3.1.1: some libraries put a zero before the modulus.
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        guard let first = modulus.first, let last = modulus.last, let lowest = exponent.last else {
            throw .publicKeyRefused
        }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard Self.rsaBits.contains(bits), last & 1 == 1, lowest & 1 == 1, exponent.count <= 8,
            exponent != [1]
        else { throw .publicKeyRefused }
        kind = .rsa(modulus: modulus, exponent: exponent)
    }

    /// Creates a P-256 key from its coordinates, the members `x` and `y` of a JSON Web Key.
    ///
    /// Throws `WireError.publicKeyRefused` unless each has 32 bytes and together they are a point on the
    /// curve.
    package init(x: [UInt8], y: [UInt8]) throws(WireError) {
        let point = [0x04] + x + y
        guard x.count == 32, y.count == 32 else { throw .publicKeyRefused }
        // Sound: the call reads the 65 bytes of the point.
        guard unsafe balloon_is_p256_point(point) == 1 else { throw .publicKeyRefused }
        kind = .p256(point: point)
    }

    /// The only algorithm that the key verifies.
    package var algorithm: SignatureAlgorithm {
        switch kind {
        case .rsa: .rs256
        case .p256: .es256
        }
    }

    /// The members of a JSON Web Key that state this key, in Base64url (RFC 7518 §6).
    package var members: [(name: String, value: String)] {
        switch kind {
        case .rsa(let modulus, let exponent):
            [
                ("kty", "RSA"), ("n", Base64.encode(modulus, alphabet: .url)),
                ("e", Base64.encode(exponent, alphabet: .url)),
            ]
        case .p256(let point):
            [
                ("kty", "EC"), ("crv", "P-256"), ("x", Base64.encode(point[1...32], alphabet: .url)),
                ("y", Base64.encode(point[33...64], alphabet: .url)),
            ]
        }
    }

    /// Returns whether `signature` is a valid signature of `message` by this key; takes 0.03 to 0.3 ms.
    package func isValid(signature: [UInt8], of message: [UInt8]) -> Bool {
        switch kind {
        case .rsa(let modulus, let exponent):
            // Sound: each pointer is passed with the count of its array.
            return unsafe balloon_verify_rs256(
                modulus, modulus.count, exponent, exponent.count, message, message.count, signature,
                signature.count) == 1
        case .p256(let point):
            guard signature.count == BALLOON_P256_SIGNATURE_BYTES else { return false }
            // Sound: the point has 65 bytes and the signature 64, as the call expects.
            return unsafe balloon_verify_es256(point, message, message.count, signature) == 1
        }
    }
}
