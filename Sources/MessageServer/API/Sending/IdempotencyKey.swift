import BalloonWire
import BusinessMessages

/// The key of a request to send, by which its repetitions are known.
///
/// It belongs to the name of the token, the business and the customer. The message's id is derived from these, so that the
/// store's deduplication finds the message of an earlier request, and the record of the message has the digest.
struct IdempotencyKey: Sendable {
    /// The id of the message that a request with this key sends.
    let message: MessageID
    /// The SHA-256 of the request's body, in hexadecimal.
    let requestDigest: String

    /// Creates the key of a request; nil unless the text has 1 to 200 visible ASCII characters.
    init?(_ text: String, token: String, business: BusinessID, customer: CustomerID, body: [UInt8]) {
        guard Self.isValid(text) else { return nil }
        let parts = [token, business.rawValue, customer.rawValue, text].map { "\($0.utf8.count):\($0)" }
        // A handler's key begins with a digit here, so that it never means the same message.
        message = MessageID(derivedFrom: Array(("api" + parts.joined()).utf8))
        requestDigest = Hex.encode(SHA256.hash(body))
    }

    /// Whether a text has the form of a key.
    static func isValid(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
