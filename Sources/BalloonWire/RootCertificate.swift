internal import BalloonJSON
internal import COpenSSL

/// A root certificate: every chain of a service must lead to exactly this root.
///
/// The value contains no OpenSSL objects: each verification creates new ones.
package struct RootCertificate: Sendable, Hashable {
    /// The extensions that state for which service Apple issued a certificate, as object identifiers.
    package struct Purpose: Sendable, Hashable {
        /// The extension that the leaf must have.
        package let leaf: String
        /// The extension that the intermediate must have.
        package let intermediate: String

        /// Creates a purpose.
        package init(leaf: String, intermediate: String) {
            self.leaf = leaf
            self.intermediate = intermediate
        }

        /// The extensions of the chains that sign for the App Store (Apple's App Store Server libraries,
        /// 2026).
        package static let appStore = Purpose(
            leaf: "1.2.840.113635.100.6.11.1", intermediate: "1.2.840.113635.100.6.2.1")
    }

    /// The maximum bytes of a certificate.
    package static let maximumBytes = BALLOON_CERTIFICATE_MAXIMUM_BYTES
    /// The SHA-256 of Apple Root CA - G3, which Apple publishes at https://www.apple.com/certificateauthority/.
    package static let appleG3Fingerprint =
        "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"

    /// Apple Root CA - G3, the root of the App Store's and Apple Pay's certificates, valid until 2039-04-30.
    ///
    /// Its SHA-256 is ``appleG3Fingerprint``; a test compares both.
    package static let appleG3 = RootCertificate(der: Base64.decode(appleG3Text) ?? [])

    /// The certificate as DER.
    package let der: [UInt8]

    private init(der: [UInt8]) { self.der = der }

    /// Reads a certificate from DER or PEM.
    ///
    /// Throws `WireError.rootRefused` unless it is one self-signed certificate of an authority.
    package init(_ bytes: [UInt8]) throws(WireError) {
        var der = [UInt8](repeating: 0, count: Int(Self.maximumBytes))
        var count = der.count
        // Sound: `bytes` comes with its count; `count` is the capacity of `der` and is replaced by the length.
        guard !bytes.isEmpty, unsafe balloon_read_root(bytes, bytes.count, &der, &count) == 1 else {
            throw .rootRefused
        }
        self.der = Array(der.prefix(count))
    }

    /// The SHA-256 of the certificate, in lower-case hexadecimal digits.
    package var fingerprint: String { Hex.encode(SHA256.hash(der)) }

    /// Verifies a chain at a time in whole seconds since 1970, and returns the leaf's key; takes 0.3 to 1 ms.
    ///
    /// The chain must be exactly the leaf, the intermediate and this root (RFC 5280 §6.1, with the strict
    /// checks of OpenSSL). Revocation is not checked. Throws `WireError.chainRefused`.
    package func verify(
        _ chain: CertificateChain, at seconds: Int, for purpose: Purpose
    ) throws(WireError) -> PublicKey {
        var point = [UInt8](repeating: 0, count: Int(BALLOON_P256_POINT_BYTES))
        // Sound: each pointer comes with the count of its array and lives during the call, which writes 65 bytes.
        let status = unsafe chain.leaf.withUnsafeBufferPointer { leaf in
            unsafe chain.intermediate.withUnsafeBufferPointer { intermediate in
                unsafe der.withUnsafeBufferPointer { root in
                    unsafe balloon_verify_chain(
                        balloon_certificate(bytes: leaf.baseAddress, count: leaf.count),
                        balloon_certificate(bytes: intermediate.baseAddress, count: intermediate.count),
                        balloon_certificate(bytes: root.baseAddress, count: root.count), Int64(seconds),
                        purpose.leaf, purpose.intermediate, &point)
                }
            }
        }
        if let defect = Self.defect(Int(status)) { throw .chainRefused(defect) }
        return try PublicKey(x: Array(point[1...32]), y: Array(point[33...64]))
    }

    /// Returns the defect for a status of `balloon_verify_chain`; nil when the chain is valid.
    static func defect(_ status: Int) -> CertificateDefect? {
        switch status {
        case Int(BALLOON_CHAIN_VALID): nil
        case Int(BALLOON_CHAIN_MALFORMED): .malformed
        case Int(BALLOON_CHAIN_KEY): .keyKind
        case Int(BALLOON_CHAIN_ALGORITHM): .signatureAlgorithm
        case Int(BALLOON_CHAIN_EXPIRED): .outsideValidity
        case Int(BALLOON_CHAIN_UNTRUSTED): .untrusted
        case Int(BALLOON_CHAIN_PURPOSE): .purpose
        default: .memory
        }
    }
}

/// Apple Root CA - G3 as Base64 of its DER.
private let appleG3Text =
    """
    MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwSQXBwbGUgUm9vdCBDQSAtIEczMSYwJAYD\
    VQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9uIEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMCVVMwHhcN\
    MTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBSb290IENBIC0gRzMxJjAkBgNVBAsMHUFw\
    cGxlIENlcnRpZmljYXRpb24gQXV0aG9yaXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJVUzB2MBAGByqGSM49\
    AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtfTjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA\
    /VhYDKX1DyxNB0cTddqXl5dvMVztK517IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySr\
    MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gAMGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZL\
    uN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM\
    6BgD56KyKA==
    """
