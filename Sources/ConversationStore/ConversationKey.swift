import BusinessMessages

/// A conversation's identity: a business and one of its customers.
struct ConversationKey: Hashable, Sendable {
    let business: BusinessID
    let customer: CustomerID
}
