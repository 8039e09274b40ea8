import BalloonJSON

/// The two certificates between a token's signature and a configured root, as DER.
package struct CertificateChain: Sendable, Hashable {
    /// The certificate of the key that signed.
    package let leaf: [UInt8]
    /// The certificate of the authority that issued the leaf.
    package let intermediate: [UInt8]

    /// Creates a chain, which is not verified.
    package init(leaf: [UInt8], intermediate: [UInt8]) {
        self.leaf = leaf
        self.intermediate = intermediate
    }
}

/// An ES256 token with its signer's certificates in the header, split into its parts but not verified.
///
/// The header's member `x5c` has the certificates (RFC 7515 §4.1.6).
package struct CertifiedToken: Sendable {
    /// The first two certificates of `x5c`; the third, a root, is ignored: only a configured root is trusted.
    package let chain: CertificateChain
    private let token: SignedToken

    /// Splits a token into its parts.
    ///
    /// Throws `WireError.tokenMalformed` as ``SignedToken`` does. Throws `.tokenHeader` unless the header is
    /// a JSON object with exactly one `alg`, which is ES256, and without `crit`. Throws `.tokenCertificates`
    /// unless there is exactly one `x5c` with three certificates in Base64.
    package init(_ text: String) throws(WireError) {
        token = try SignedToken(text)
        // Drop the JSON error: the caller does not need the position of the error in the header.
        guard let header = (try? JSONDocument(token.header, limits: Self.headerLimits))?.root else {
            throw .tokenHeader
        }
        // RFC 7515 §4: names are unique. RFC 8725 §3.1: the verifier chooses the algorithm, and the header
        // must agree.
        guard Self.only("alg", of: header)?.equals("ES256") == true, header["crit"] == nil else {
            throw .tokenHeader
        }
        guard let list = Self.only("x5c", of: header), list.kind == .array, list.count == 3 else {
            throw .tokenCertificates
        }
        var certificates: [[UInt8]] = []
        for element in list.elements {
            // Limit the text to the Base64 length of the largest certificate.
            guard let text = element.string, text.utf8.count <= Int(RootCertificate.maximumBytes) * 4 / 3 + 4,
                let bytes = Base64.decode(text), !bytes.isEmpty, bytes.count <= RootCertificate.maximumBytes
            else { throw .tokenCertificates }
            certificates.append(bytes)
        }
        chain = CertificateChain(leaf: certificates[0], intermediate: certificates[1])
    }

    /// The decoded claims; not trustworthy before ``isSigned(by:)`` has returned true.
    package var claims: [UInt8] { token.claims }

    /// Returns whether `key` signed the header and the claims; `key` must come from the verified ``chain``.
    package func isSigned(by key: PublicKey) -> Bool { token.isSigned(by: key) }

    private static let headerLimits = JSONLimits(maximumDepth: 8, maximumNodes: 256)

    private static func only(_ name: String, of header: JSONValue) -> JSONValue? {
        let found = header.members.filter { $0.key == name }
        return found.count == 1 ? found[0].value : nil
    }
}
