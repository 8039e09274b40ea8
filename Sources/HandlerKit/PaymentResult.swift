import BusinessMessages

/// The server's own record of a payment that Apple's event completes; see ``Context/payment``.
///
/// ```json
/// {"state": "paid", "amount": "63.99", "currency": "EUR", "reference": "ch_3Nk…", "attempt": "5f1c…", "agrees": true}
/// ```
/// The event itself says only what the customer's device shows, and does not prove that the customer was
/// charged.
public struct PaymentResult: Hashable, Sendable {
    /// The state of the last attempt.
    public enum State: String, CaseIterable, Sendable {
        /// The customer has not authorised a payment.
        case unpaid
        /// The server has asked the handler to charge, and waits for the answer.
        case pending
        /// The handler charged the sum.
        case paid
        /// The handler declined.
        case declined
        /// The handler may have charged, or may still charge, a payment that the device shows as failed.
        ///
        /// Ask for no other payment meanwhile: the server has the charge reversed.
        case uncertain
        /// A charge that the device shows as failed may exist, and the server asks the handler to reverse it.
        case reversing
        /// The handler reversed the charge, or found none.
        case reversed
        /// The handler never confirmed the reversal: look at the payment provider.
        case unreversed
    }

    /// The state of the last attempt.
    public let state: State
    /// The sum of the last attempt as decimal text; the sum of the sheet when there was no attempt.
    public let amount: String
    /// The currency, three letters of ISO 4217.
    public let currency: String
    /// The payment provider's reference for the charge, as the handler reported it.
    public let reference: String?
    /// The identifier of the last attempt, 64 hexadecimal digits, which is the idempotency key at the
    /// provider.
    public let attempt: String?
    /// Whether the event agrees with ``state``: the device shows a payment if and only if the state is
    /// `paid`.
    public let agrees: Bool

    /// Creates a result, in a server or in a handler's tests.
    public init(
        state: State, amount: String, currency: String, reference: String? = nil, attempt: String? = nil,
        agrees: Bool = true
    ) {
        self.state = state
        self.amount = amount
        self.currency = currency
        self.reference = reference
        self.attempt = attempt
        self.agrees = agrees
    }
}

extension PaymentResult {
    /// Parses a result in the form of ``json``; nil when `value` has another form.
    package init?(_ value: JSONValue) {
        guard let state = value["state"]?.string.flatMap(State.init), let amount = value["amount"]?.string,
            let currency = value["currency"]?.string, let agrees = value["agrees"]?.bool
        else { return nil }
        self.init(
            state: state, amount: amount, currency: currency, reference: value["reference"]?.string,
            attempt: value["attempt"]?.string, agrees: agrees)
    }

    /// The result in the form that handlers outside the process receive.
    package var json: [UInt8] {
        JSONWriter.object([
            "state": state.rawValue, "amount": amount, "currency": currency, "reference": reference,
            "attempt": attempt, "agrees": agrees,
        ])
    }
}
