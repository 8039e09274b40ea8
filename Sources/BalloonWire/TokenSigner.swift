import BalloonJSON

/// A signer of JSON Web Tokens with HS256, as Apple's gateway expects them (RFC 7515, RFC 7518 §3.2).
package struct TokenSigner: Sendable {
    private let secret: Secret

    /// Creates a signer with `secret`.
    package init(secret: Secret) { self.secret = secret }

    /// Signs `claims`, one JSON object, and returns the token in compact form.
    package func sign(_ claims: some Collection<UInt8>) -> String {
        // The first part encodes {"alg":"HS256"}, which is the complete header in Apple's samples.
        let signed = "eyJhbGciOiJIUzI1NiJ9." + Base64.encode(claims, alphabet: .url)
        let tag = HMACSHA256(key: secret).tag(of: signed.utf8.span)
        return signed + "." + Base64.encode(tag.span, alphabet: .url)
    }
}
