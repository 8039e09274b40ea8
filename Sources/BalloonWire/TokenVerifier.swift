import BalloonJSON

/// A verifier of JSON Web Tokens that were signed with HS256 and one secret (RFC 7515, RFC 7518 §3.2).
///
/// Creating a verifier computes the key schedule, so reuse the verifier. It belongs to one isolation domain.
package final class TokenVerifier {
    private let hmac: HMACSHA256
    /// The encoded header of the last accepted token, which needs no parsing when the next token has the same
    /// header.
    private var acceptedHeader: [UInt8] = []

    /// Creates a verifier for tokens signed with `secret`.
    package init(secret: Secret) { hmac = HMACSHA256(key: secret) }

    /// Verifies the signature of a token in compact form and returns its claims, decoded from Base64url.
    ///
    /// The algorithm is always HS256, and the header must name it (RFC 8725 §3.1, RFC 7515 §4.1.11 and §5.2).
    /// The header is parsed after the signature is verified, so a sender without the secret cannot make the
    /// parser run. The caller checks the claims, including whether they are JSON. Throws
    /// `WireError.tokenMalformed`, `.tokenSignatureMismatch` or `.tokenHeader`.
    package func verify(_ token: some Collection<UInt8>) throws(WireError) -> [UInt8] {
        var claims: [UInt8] = []
        try verify(token, into: &claims)
        return claims
    }

    /// Verifies `token` and writes its claims to `result`, whose storage is reused.
    @specialized(where Token == ArraySlice<UInt8>)
    package func verify<Token: Collection<UInt8>>(
        _ token: Token, into result: inout [UInt8]
    ) throws(WireError) {
        try token.withSpan { token throws(WireError) in try verify(token, into: &result) }
    }

    private func verify(_ token: Span<UInt8>, into result: inout [UInt8]) throws(WireError) {
        guard let (header, claims, signature) = parts(of: token) else { throw .tokenMalformed }
        let tag = hmac.tag(of: token.extracting(..<claims.upperBound))
        // Compare the encoded tags: encoding our tag is enough, because a tag has only one valid encoding.
        var expected = InlineArray<43, UInt8>(repeating: 0)
        var text = expected.mutableSpan
        Base64.encode(tag.span, alphabet: .url, into: &text)
        guard constantTimeEquals(token.extracting(signature), expected.span) else {
            throw .tokenSignatureMismatch
        }
        try checkHeader(token.extracting(header))
        guard Base64.decode(token.extracting(claims), alphabet: .url, into: &result) else {
            throw .tokenMalformed
        }
    }

    private func checkHeader(_ encoded: Span<UInt8>) throws(WireError) {
        guard !constantTimeEquals(encoded, acceptedHeader.span) else { return }
        guard let header = Base64.decode(encoded, alphabet: .url) else { throw .tokenMalformed }
        // Drop the JSON error: the caller does not need the position of the error in the header.
        guard let root = (try? JSONDocument(header))?.root, root.kind == .object else { throw .tokenHeader }
        let algorithms = root.members.filter { $0.key == "alg" }
        guard algorithms.count == 1, algorithms[0].value.equals("HS256"), root["crit"] == nil else {
            throw .tokenHeader
        }
        acceptedHeader = encoded.indices.map { encoded[$0] }
    }

    /// Returns the ranges of the three parts; nil unless `token` has exactly three non-empty parts.
    private func parts(
        of token: Span<UInt8>
    ) -> (header: Range<Int>, claims: Range<Int>, signature: Range<Int>)? {
        var first: Int?
        var second: Int?
        for index in token.indices where token[index] == UInt8(ascii: ".") {
            guard second == nil else { return nil }
            if first == nil { first = index } else { second = index }
        }
        guard let first, let second, first > 0, second > first + 1, second + 1 < token.count else {
            return nil
        }
        return (0..<first, first + 1..<second, second + 1..<token.count)
    }
}
