package import BalloonJSON
package import BusinessMessages

/// A question that the server itself asks a customer.
///
/// Its `requestIdentifier` is derived from the business and the customer, so that an answer is known without a table,
/// whenever it comes. An answer starts no handler and begins no conversation.
package enum ServerQuestion: String, CaseIterable, Sendable {
    /// The types of messages that the customer wants.
    case types
    /// The customer's score of the conversation.
    case survey

    /// The kinds of the answers.
    static let kinds: Set<Kind> = [.listPicker, .quickReply]

    /// The `requestIdentifier` of the question.
    package func request(_ business: BusinessID, _ customer: CustomerID) -> MessageID {
        MessageID(derivedFrom: ["notices", rawValue, business.rawValue, customer.rawValue])
    }

    /// Returns whether a customer's message answers such a question; false while its content is a reference.
    package static func isAnswered(
        by message: JSONValue, _ business: BusinessID, _ customer: CustomerID
    ) -> Bool {
        // The identifier of a question is a UUID of version 8. Nearly all others have another version, and need no hash.
        guard let request = message["interactiveData"]?["data"]?["requestIdentifier"]?.string,
            request.utf8.count == 36, request.utf8.dropFirst(14).first == UInt8(ascii: "8")
        else { return false }
        return allCases.contains { $0.request(business, customer).rawValue == request }
    }
}
