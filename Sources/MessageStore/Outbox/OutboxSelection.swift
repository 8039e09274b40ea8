package import BusinessMessages

/// The rule for leasing the next due reply of the outbox.
package enum OutboxSelection: Hashable, Sendable {
    /// The next due reply of the business whose turn it is, within the limits of replies in flight.
    case any(excludingBusinesses: Set<BusinessID> = [])
    /// The next due reply of this business to any customer but `than`.
    ///
    /// A probe of the gateway: the limits of replies in flight do not apply.
    case anotherConversation(of: BusinessID, than: CustomerID?)
    /// The next due reply of a business that is not in the set.
    ///
    /// A probe of the gateway: the limit of all replies in flight does not apply.
    case anotherBusiness(than: Set<BusinessID>)
    /// The next reply of a business that is not in the set.
    ///
    /// If no reply is due, this is the postponed reply that is due first and whose `Retry-After` has passed. As for
    /// every probe of the gateway, the limit of all replies in flight does not apply.
    case probe(excludingBusinesses: Set<BusinessID>)
}
