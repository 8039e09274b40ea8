/// The reason why a certificate chain is refused: the first check that failed.
package enum CertificateDefect: String, Sendable, Hashable, CaseIterable {
    /// A certificate is not DER, is longer than 4,096 bytes, or is followed by more bytes.
    case malformed
    /// The leaf's key is not on P-256, or the intermediate's key is on neither P-256 nor P-384.
    case keyKind
    /// A certificate is not signed by ECDSA with SHA-256 or SHA-384.
    case signatureAlgorithm
    /// A certificate had expired, or was not yet valid, at the time for which the chain is checked.
    case outsideValidity
    /// The root did not issue the intermediate, or the intermediate did not issue the leaf.
    case untrusted
    /// The leaf or the intermediate lacks the extension that states its purpose.
    case purpose
    /// OpenSSL has no memory.
    case memory
}
