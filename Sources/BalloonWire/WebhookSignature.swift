import BalloonJSON

/// Signatures as defined by Standard Webhooks ("Verifying webhook authenticity").
///
/// A signature is an HMAC-SHA-256 over the id, the time and the body of a request.
package struct WebhookSignature: Sendable {
    private let secrets: [Secret]

    /// Creates a signer that signs with each of `secrets`; pass two while a new secret replaces an old one.
    package init(secrets: [Secret]) { self.secrets = secrets }

    /// Returns the value of `webhook-signature`: `v1,` and Base64 for each secret, separated by blanks.
    package func sign(id: String, timestamp: Int, body: [UInt8]) -> String {
        let signed = Array("\(id).\(timestamp).".utf8) + body
        return secrets.map { secret in
            let tag = HMACSHA256(key: secret).tag(of: signed.span)
            return "v1," + Base64.encode(tag.span, alphabet: .standard)
        }.joined(separator: " ")
    }
}

extension Secret {
    /// Parses a secret in the form of Standard Webhooks: `whsec_`, which is optional, and Base64 of 24 to 64
    /// bytes.
    package init(webhook text: String) throws(WireError) {
        let prefix = "whsec_"
        let secret = try Secret(base64: text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text)
        guard (24...64).contains(secret.bytes.count) else { throw .base64Malformed }
        self = secret
    }
}
