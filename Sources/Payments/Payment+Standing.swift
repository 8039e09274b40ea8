/// The state of the money of a request.
extension Payment {
    /// The state of a request's money, as the customer is told.
    package enum Standing: Sendable {
        /// No attempt has charged.
        case unpaid
        /// A charge may have existed, and was reversed.
        case returned
        /// The request is paid.
        case paid
        /// A charge may exist that the device does not show.
        case unclear
    }

    /// The present standing.
    package var standing: Standing {
        if paid != nil { return .paid }
        if attempts.contains(where: { !$0.state.admitsAnother }) { return .unclear }
        return attempts.contains { $0.state == .reversed } ? .returned : .unpaid
    }
}
