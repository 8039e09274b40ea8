package import BusinessMessages

/// The rule for leasing the next due reply of the outbox.
package enum OutboxSelection: Hashable, Sendable {
    /// The next due reply of the business whose turn it is, within the limits of replies in flight.
    case any(excludingBusinesses: Set<BusinessID> = [])
    /// The next due reply of this business, or of any without one, else a postponed reply.
    ///
    /// Of the postponed replies whose `Retry-After` has passed, it is the one that is due first. It is a
    /// probe of the gateway, so the limits of replies in flight do not apply.
    case probe(of: BusinessID?)
}
