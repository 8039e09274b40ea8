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
        // An id from a handler's key is derived from text that begins with a digit, so the two are never the same.
        message = MessageID(
            derivedFrom: [token, business.rawValue, customer.rawValue, text], prefix: "api")
        requestDigest = Hex.encode(SHA256.hash(body))
    }

    /// Whether a text has the form of a key.
    static func isValid(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension APIRequest {
    /// Returns the key of the request for a customer; a message and something else, named by `purpose`, may
    /// have the same key.
    func idempotencyKey(
        about purpose: String = "", _ business: BusinessID, _ customer: CustomerID
    ) throws(APIProblem) -> IdempotencyKey {
        let key = list("idempotency-key").flatMap {
            IdempotencyKey(
                $0, token: token.name + purpose, business: business, customer: customer, body: body)
        }
        guard let key else {
            throw APIProblem(
                .badRequest, "send Idempotency-Key with 1 to 200 visible ASCII characters",
                parameter: "Idempotency-Key")
        }
        return key
    }
}
