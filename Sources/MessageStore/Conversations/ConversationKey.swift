import BusinessMessages

/// A conversation's identity: a business and one of its customers.
struct ConversationKey: Hashable, Sendable {
    let business: BusinessID
    let customer: CustomerID

    // A queue is looked up several times per message: bytes are compared at once where both texts are ASCII.
    static func == (left: ConversationKey, right: ConversationKey) -> Bool {
        haveSameBytes(left.customer.rawValue, right.customer.rawValue)
            && haveSameBytes(left.business.rawValue, right.business.rawValue)
    }

    // A customer belongs to one business.
    func hash(into hasher: inout Hasher) { hasher.combine(customer.rawValue) }
}

/// Whether two texts have the same UTF-8; fast for ASCII, which `String` compares byte by byte.
private func haveSameBytes(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count, left == right else { return false }
    return left.utf8Span.isKnownASCII || left.utf8.elementsEqual(right.utf8)
}
