import BalloonWire
import BusinessMessages
import MessageStore

/// The `Idempotency-Key` of a request to send, by which the server recognizes a repetition of the request.
///
/// A key is valid for one token name, business and customer. The message's id is derived from all four, so
/// that the store's deduplication finds the message of an earlier request with the key. The record of that
/// message has the digest of the earlier request's body.
struct IdempotencyKey: Sendable {
    /// The id of the message that a request with this key sends.
    let message: MessageID
    /// The SHA-256 of the request's body, in hexadecimal.
    let requestDigest: String

    /// Creates the key of a request; nil unless the text has 1 to 200 visible ASCII characters.
    init?(_ text: String, token: String, business: BusinessID, customer: CustomerID, body: [UInt8]) {
        guard Self.isValid(text) else { return nil }
        let parts = [token, business.rawValue, customer.rawValue, text].map { "\($0.utf8.count):\($0)" }
        // An id from a handler's key is derived from text that begins with a digit, so the two are never the same.
        message = MessageID(derivedFrom: Array(("api" + parts.joined()).utf8))
        requestDigest = Hex.encode(SHA256.hash(body))
    }

    /// Whether a text has the form of a key.
    static func isValid(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
