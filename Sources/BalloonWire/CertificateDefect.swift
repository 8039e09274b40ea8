/// The reason why a chain of certificates is refused; the first check that fails decides.
package enum CertificateDefect: String, Sendable, Hashable, CaseIterable {
    /// A certificate is not DER of at most 4,096 bytes, or bytes follow its end.
    case malformed
    /// The leaf's key is not on P-256, or the intermediate's is neither on P-256 nor on P-384.
    case keyKind
    /// A certificate is not signed by ECDSA with SHA-256 or SHA-384.
    case signatureAlgorithm
    /// A certificate was expired, or not valid yet, at the time of the check.
    case outsideValidity
    /// The chain does not lead from the leaf over the intermediate to the root.
    case untrusted
    /// The leaf or the intermediate lacks the extension that states its purpose.
    case purpose
    /// OpenSSL has no memory.
    case memory
}
