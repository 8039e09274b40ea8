package import BusinessMessages
import MessageStore
package import Payments

/// An attempt to pay whose charge a handler has to reverse, has reversed, or did not reverse in time; read from its open request.
package struct AttemptReversal: Sendable {
    /// The business.
    package let business: BusinessID
    /// The customer.
    package let customer: CustomerID
    /// The currency, three letters of ISO 4217.
    package let currency: String
    /// The attempt: its key at the payment provider, its sum and its state.
    package let attempt: PaymentAttempt

    /// Whether an operator has to decide about it.
    package var isDeadLetter: Bool { attempt.state == .unreversed }

    /// The reversals of a data directory, oldest change first; `unreadable` counts damaged files of requests.
    ///
    /// Reads beside a running server or without one. Throws when a folder or a file cannot be read.
    package static func all(
        dataDirectory: String
    ) throws -> (reversals: [AttemptReversal], unreadable: Int) {
        let (requests, unreadable) = try OpenRequests.read(dataDirectory: dataDirectory)
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
        case .reversing, .reversed, .unreversed, .dropped: true
        case .begun, .succeeded, .failed: false
        }
    }
}
