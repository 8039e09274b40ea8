import BusinessMessages

/// The business and the customer of a conversation, which identify it.
struct ConversationID: Hashable, Sendable {
    let business: BusinessID
    let customer: CustomerID
}
