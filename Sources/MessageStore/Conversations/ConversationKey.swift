import BusinessMessages

/// A conversation's identity: a business and one of its customers.
struct ConversationKey: Hashable, Sendable {
    let business: BusinessID
    let customer: CustomerID
    /// The first eight bytes of the customer's SHA-256, big-endian: they begin the name of the conversation's file.
    ///
    /// Kept because a key is hashed and compared a dozen times for a message.
    let digest: UInt64

    init(business: BusinessID, customer: CustomerID) {
        self.business = business
        self.customer = customer
        digest = ConversationPath.digest(of: customer)
    }

    static func == (left: ConversationKey, right: ConversationKey) -> Bool {
        left.digest == right.digest && left.customer == right.customer && left.business == right.business
    }

    // A customer id rarely occurs with two businesses, so the hash of the customer suffices.
    func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
