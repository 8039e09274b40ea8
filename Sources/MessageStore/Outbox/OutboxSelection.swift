package import BusinessMessages

/// The rule for leasing the next due reply of the outbox.
package enum OutboxSelection: Hashable, Sendable {
    /// The next due reply of the business whose turn it is, within the limits of replies in flight.
    case any(excludingBusinesses: Set<BusinessID> = [])
    /// The next due reply of this business to any customer except `than`.
    ///
    /// It is a probe of the gateway, so the limits of replies in flight do not apply.
    case anotherConversation(of: BusinessID, than: CustomerID?)
    /// The next due reply of a business that is not in the set.
    ///
    /// It is a probe of the gateway, so the limit of all replies in flight does not apply.
    case anotherBusiness(than: Set<BusinessID>)
    /// The next due reply of a business that is not in the set, or else a postponed one.
    ///
    /// Of the postponed replies whose `Retry-After` has passed, it is the one that is due first. It is a
    /// probe of the gateway, so the limit of all replies in flight does not apply.
    case probe(excludingBusinesses: Set<BusinessID>)
}
