import BusinessMessages

/// A customer's answer to the question whether the business may write later, in the form that a handler receives.
///
/// ```json
/// {"type": "consent", "state": "given", "at": "2026-11-28T09:00:00.000Z", "words": "subscribe", "types": ["orders"]}
/// ```
/// The server has already confirmed the answer to the customer.
public struct ConsentChange: Hashable, Sendable {
    /// Whether the customer agreed; false after a withdrawal.
    public let isGiven: Bool
    /// The time of the customer's message (RFC 3339).
    public let at: String
    /// The customer's words; nil for a choice in the list of types.
    public let words: String?
    /// The types of messages that the customer chose; empty means all.
    public let types: [String]

    /// Creates an answer, in a server or in a handler's tests.
    public init(isGiven: Bool, at: String, words: String? = nil, types: [String] = []) {
        (self.isGiven, self.at, self.words, self.types) = (isGiven, at, words, types)
    }

    /// Parses the message of an event of the kind `consent`; nil when it has another form.
    package init?(_ value: JSONValue) {
        guard value["type"]?.string == "consent", let state = value["state"]?.string,
            let at = value["at"]?.string
        else { return nil }
        self.init(
            isGiven: state == "given", at: at, words: value["words"]?.string,
            types: value["types"]?.elements.compactMap(\.string) ?? [])
    }
}
