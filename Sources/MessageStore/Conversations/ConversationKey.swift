import BusinessMessages

/// A conversation's identity: a business and one of its customers.
struct ConversationKey: Hashable, Sendable {
    let business: BusinessID
    let customer: CustomerID

    // The customers differ more often than the businesses.
    static func == (left: ConversationKey, right: ConversationKey) -> Bool {
        left.customer == right.customer && left.business == right.business
    }

    // A customer belongs to one business, so the customer suffices for the hash.
    func hash(into hasher: inout Hasher) { hasher.combine(customer.rawValue) }
}
