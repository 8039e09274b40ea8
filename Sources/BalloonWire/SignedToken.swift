import BalloonJSON

/// A JSON Web Token in compact form, split into its parts but not yet verified (RFC 7515 §7.1).
///
/// This type is for tokens that are signed with a private key. ``TokenVerifier`` verifies the tokens of
/// Apple's requests, which are signed with a shared secret.
package struct SignedToken: Sendable {
    /// The decoded header.
    package let header: [UInt8]
    /// The decoded claims; not trustworthy before ``isSigned(by:)`` has returned true.
    package let claims: [UInt8]
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// The maximum bytes of a token.
    package static let maximumBytes = 65_536

    /// Splits a token into its parts.
    ///
    /// Throws `WireError.tokenMalformed` unless the token has at most ``maximumBytes`` and exactly three
    /// non-empty parts of Base64url.
    package init(_ token: String) throws(WireError) {
        let bytes = Array(token.utf8.prefix(Self.maximumBytes + 1))
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard bytes.count <= Self.maximumBytes, parts.count == 3, parts.allSatisfy({ !$0.isEmpty }),
            let header = Base64.decode(parts[0], alphabet: .url),
            let claims = Base64.decode(parts[1], alphabet: .url),
            let signature = Base64.decode(parts[2], alphabet: .url)
        else { throw .tokenMalformed }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array(bytes[..<parts[1].endIndex])
    }

    /// Returns whether `key` signed the header and the claims.
    package func isSigned(by key: PublicKey) -> Bool { key.isValid(signature: signature, of: signed) }
}
