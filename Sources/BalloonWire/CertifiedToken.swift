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

/// An ES256 token whose header has its signer's certificates, taken apart but not verified (RFC 7515 §4.1.6).
package struct CertifiedToken: Sendable {
    /// The first two certificates of `x5c`; the third is a root, and only a configured root counts.
    package let chain: CertificateChain
    private let token: SignedToken

    /// Takes a token apart.
    ///
    /// Throws `WireError.tokenMalformed` as ``SignedToken`` does; `.tokenHeader` unless the header is a JSON object
    /// without `crit` and with ES256 as its one `alg`; and `.tokenCertificates` unless its one `x5c` has three
    /// certificates in Base64.
    package init(_ text: String) throws(WireError) {
        token = try SignedToken(text)
        // The JSON error is dropped, because the caller needs no position in the header.
        guard let header = (try? JSONDocument(token.header, limits: Self.headerLimits))?.root else {
            throw .tokenHeader
        }
        // RFC 7515 §4: names are unique. RFC 8725 §3.1: the algorithm is ours, and the header must agree.
        guard Self.only("alg", of: header)?.equals("ES256") == true, header["crit"] == nil else {
            throw .tokenHeader
        }
        guard let list = Self.only("x5c", of: header), list.kind == .array, list.count == 3 else {
            throw .tokenCertificates
        }
        var certificates: [[UInt8]] = []
        for element in list.elements {
            // The text of a certificate of the maximum size, in Base64.
            guard let text = element.string, text.utf8.count <= Int(RootCertificate.maximumBytes) * 4 / 3 + 4,
                let bytes = Base64.decode(text), !bytes.isEmpty, bytes.count <= RootCertificate.maximumBytes
            else { throw .tokenCertificates }
            certificates.append(bytes)
        }
        chain = CertificateChain(leaf: certificates[0], intermediate: certificates[1])
    }

    /// The decoded claims; worth nothing before ``isSigned(by:)``.
    package var claims: [UInt8] { token.claims }

    /// Whether `key`, which must come from the verified ``chain``, signed the header and the claims.
    package func isSigned(by key: PublicKey) -> Bool { token.isSigned(by: key) }

    private static let headerLimits = JSONLimits(maximumDepth: 8, maximumNodes: 256)

    private static func only(_ name: String, of header: JSONValue) -> JSONValue? {
        let found = header.members.filter { $0.key == name }
        return found.count == 1 ? found[0].value : nil
    }
}
