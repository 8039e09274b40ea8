package import BusinessMessages

/// The rule for leasing the next due reply of the outbox.
package enum OutboxSelection: Hashable, Sendable {
    /// The next one of the business whose turn it is, within the limits of replies in flight.
    case any(excludingBusinesses: Set<BusinessID> = [])
    /// The next one of this business from a conversation with another customer; nil excludes none. A probe: the limits do not apply.
    case anotherConversation(of: BusinessID, than: CustomerID?)
    /// The next reply of a business that is not in the set. A probe: the limit of all replies in flight does not apply.
    case anotherBusiness(than: Set<BusinessID>)
}
