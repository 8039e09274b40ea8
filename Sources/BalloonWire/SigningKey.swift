import BalloonJSON
internal import COpenSSL

/// A private key that signs JSON Web Tokens with RS256 or ES256; never printed.
package struct SigningKey: Sendable {
    /// The key that verifies the signatures.
    package let publicKey: PublicKey
    /// The key as PEM; OpenSSL parses it for each signature.
    private let pem: Secret

    /// The maximum bytes of a PEM text.
    package static let maximumBytes = 16_384

    /// Reads a private key without a password from PEM, such as PKCS#8's `BEGIN PRIVATE KEY`.
    ///
    /// Throws `WireError.signingKeyRefused` unless it is an RSA key of 2,048 to 8,192 bits or a P-256 key.
    package init(pem: Secret) throws(WireError) {
        var parts = balloon_key_parts()
        // Sound: the pointer is passed with the array's count; the call fills `parts`.
        guard pem.bytes.count <= Self.maximumBytes,
            unsafe balloon_read_key(pem.bytes, pem.bytes.count, &parts) == 1
        else { throw .signingKeyRefused }
        self.pem = pem
        do {
            publicKey = try Self.publicKey(parts)
        } catch {
            throw .signingKeyRefused
        }
    }

    /// Creates a new key for `algorithm`, an RSA key of 2,048 bits or a P-256 key; an RSA key takes 50 to 500 ms.
    package init(for algorithm: SignatureAlgorithm) throws(WireError) {
        try self.init(pem: Self.newPEM(rsaBits: algorithm == .rs256 ? 2048 : 0))
    }

    /// Returns a new key as PKCS#8 PEM: an RSA key of `rsaBits` bits, or a P-256 key when `rsaBits` is 0.
    static func newPEM(rsaBits: Int32) throws(WireError) -> Secret {
        var text = [UInt8](repeating: 0, count: maximumBytes)
        var count = text.count
        // Sound: `count` is the capacity of `text`, and the call replaces it by the length.
        guard unsafe balloon_create_key(rsaBits, &text, &count) == 1 else { throw .signingKeyRefused }
        return try Secret(Array(text.prefix(count)))
    }

    /// Signs `claims`, one JSON object, and returns the token in compact form (RFC 7515 §7.1).
    ///
    /// The header names the algorithm, and also the key when `keyID` is given. Signing takes 0.1 to 10 ms.
    package func sign(_ claims: [UInt8], keyID: String? = nil) throws(WireError) -> String {
        let header = JSONWriter.object { writer in
            writer.field("alg", publicKey.algorithm.rawValue)
            writer.field("typ", "JWT")
            writer.field("kid", keyID)
        }
        return try sign(header: header, claims: claims)
    }

    /// Signs `claims` with the given header, which is not checked.
    package func sign(header: [UInt8], claims: [UInt8]) throws(WireError) -> String {
        let signed = Base64.encode(header, alphabet: .url) + "." + Base64.encode(claims, alphabet: .url)
        let signature = try signature(of: Array(signed.utf8))
        return signed + "." + Base64.encode(signature, alphabet: .url)
    }

    /// Returns the signature of `message`; throws `WireError.signingKeyRefused` only when there is no memory.
    package func signature(of message: [UInt8]) throws(WireError) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: BALLOON_RSA_MAXIMUM_BYTES)
        var count = signature.count
        // Sound: `count` is the capacity of `signature`, and the other pointers come with their counts.
        guard
            unsafe balloon_sign(
                pem.bytes, pem.bytes.count, message, message.count, &signature, &count) == 1
        else { throw .signingKeyRefused }
        return Array(signature.prefix(count))
    }

    private static func publicKey(_ parts: balloon_key_parts) throws(WireError) -> PublicKey {
        guard parts.rsa_bits == 0 else {
            return try PublicKey(
                modulus: bytes(of: parts.modulus, count: parts.modulus_bytes),
                exponent: bytes(of: parts.exponent, count: parts.exponent_bytes))
        }
        let point = bytes(of: parts.point, count: BALLOON_P256_POINT_BYTES)
        return try PublicKey(x: Array(point[1...32]), y: Array(point[33...64]))
    }

    /// Returns the first `count` bytes of a C array, which Swift imports as a tuple.
    private static func bytes<Tuple>(of tuple: Tuple, count: Int) -> [UInt8] {
        // Sound: the tuple consists of bytes only, and `count` is at most its size.
        unsafe withUnsafeBytes(of: tuple) { unsafe Array($0.prefix(count)) }
    }
}
