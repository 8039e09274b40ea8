import BusinessMessages

/// A conversation's identity: a business and one of its customers.
struct ConversationKey: Hashable, Sendable {
    let business: BusinessID
    let customer: CustomerID
    /// The first eight bytes of the customer's SHA-256, big-endian; the file's name begins with them.
    ///
    /// Computed once, because the store hashes and compares a key about a dozen times for each message.
    let digest: UInt64

    init(business: BusinessID, customer: CustomerID) {
        self.business = business
        self.customer = customer
        digest = ConversationDigest(of: customer).first
    }

    static func == (left: ConversationKey, right: ConversationKey) -> Bool {
        left.digest == right.digest && left.customer == right.customer && left.business == right.business
    }

    // A customer id rarely occurs with two businesses, so the business need not be hashed.
    func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
