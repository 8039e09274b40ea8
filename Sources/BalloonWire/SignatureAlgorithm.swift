/// The algorithms of signatures that a public key verifies (RFC 7518 §3.1); the raw value is the name in `alg`.
package enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each (RFC 7518 §3.4).
    case es256 = "ES256"
}
