package import BusinessMessages
import MessageStore
package import Payments

/// An attempt to pay whose charge may have to be reversed, was reversed, or was not reversed in time.
///
/// It is read from the attempt's open request.
package struct AttemptReversal: Sendable {
    /// The business.
    package let business: BusinessID
    /// The customer.
    package let customer: CustomerID
    /// The currency, three letters of ISO 4217.
    package let currency: String
    /// The attempt: its key at the payment provider, its amount and its state.
    package let attempt: PaymentAttempt

    /// Whether the handler did not reverse the charge in time, so that an operator must decide.
    package var isDeadLetter: Bool { attempt.state == .unreversed }

    /// Returns the reversals of a data directory, the oldest change first.
    ///
    /// `unreadable` is the number of damaged request files. A server may use the directory meanwhile. Throws
    /// when a folder or a file cannot be read.
    package static func all(
        dataDirectory: String
    ) throws -> (reversals: [AttemptReversal], unreadable: Int) {
        let (requests, unreadable) = try RequestFiles(dataDirectory: dataDirectory).all()
        let reversals = requests.flatMap { request -> [AttemptReversal] in
            guard let payment = request.paymentPayload?.payment else { return [] }
            return payment.attempts.filter(\.isReversal).map {
                AttemptReversal(
                    business: request.business, customer: request.customer, currency: payment.currency,
                    attempt: $0)
            }
        }
        return (reversals.sorted { $0.attempt.changedAt < $1.attempt.changedAt }, unreadable)
    }
}

extension PaymentAttempt {
    fileprivate var isReversal: Bool {
        switch state {
        case .uncertain, .reversing, .reversed, .unreversed, .dropped: true
        case .begun, .succeeded, .failed: false
        }
    }
}
