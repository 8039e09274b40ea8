import HandlerKit
import MessageStore
import Payments

/// Ends a payment when Apple's event arrives, and tells the handler the state that the server has recorded.
struct PaymentResults: Sendable {
    let requests: OpenRequests
    let settings: PaymentSettings
    let reversals: PaymentReversals
    var clock = PaymentClock()

    /// Returns the server's record of the payment that an event ends.
    ///
    /// Nil for other events, and for a request that is unknown or went to another customer. A repeated event
    /// has the same result. Throws the disk's errors, after which the delivery is retried.
    func result(of event: InboundEvent) async throws -> PaymentResult? {
        guard case .applePay(let applePay) = event.content,
            let identifier = applePay.interaction.requestIdentifier, settings[event.business] != nil
        else { return nil }
        let (id, clock, isPaid) = (event.id, clock, applePay.state == .paid)
        let claim = RequestClaim(.payment, identifier: identifier, of: event.business, event.customer)
        let claimed = try await requests.update(claim) { request, _ -> Payment? in
            guard var payload = request?.paymentPayload else { return nil }
            let now = clock.now()
            payload.payment.finish(byEventOfPaid: isPaid, at: now)
            request?.endPayment(by: id, at: now)
            request?.set(payload)
            return payload.payment
        }
        guard case .agreed(let payment?) = claimed else { return nil }
        if !payment.reversals.isEmpty { reversals.wake() }
        return PaymentResult(payment, isShownAsPaid: isPaid)
    }

    /// Returns the part of a result that the conversation's file keeps for a person; nil for an event without
    /// a result.
    func recorded(_ event: InboundEvent) async throws -> RecordedPayment? {
        try await result(of: event).map { result in
            RecordedPayment(
                state: result.state.rawValue, amount: result.amount, currency: result.currency,
                reference: result.reference)
        }
    }

    /// Ends a request that is not paid; false when the request is unknown, has ended, or is paid.
    func withdraw(_ identifier: String, of business: BusinessID) async throws -> Bool {
        let clock = clock
        let claim = RequestClaim(.payment, identifier: identifier, of: business, nil)
        let claimed = try await requests.update(claim) { request, _ in
            guard var payload = request?.paymentPayload, payload.payment.acceptsUpdates(at: clock.now())
            else {
                return false
            }
            payload.payment.finish(.withdrawn)
            request?.endPayment(by: nil, at: clock.now())
            request?.set(payload)
            return true
        }
        return claimed.value ?? false
    }
}

extension PaymentResult {
    /// Creates the result from the paid attempt, or else from the last one.
    ///
    /// `isShownAsPaid` says whether the device shows the payment as paid.
    init(_ payment: Payment, isShownAsPaid: Bool) {
        let attempt = payment.paid ?? payment.attempts.last
        let state: State =
            switch attempt?.state {
            case nil: .unpaid
            case .begun: .pending
            case .uncertain: .uncertain
            case .succeeded: .paid
            case .failed: .declined
            case .reversing: .reversing
            case .reversed: .reversed
            // A dropped reversal counts as unreversed, because an operator's decision does not change the
            // charge.
            case .unreversed, .dropped: .unreversed
            }
        self.init(
            state: state, amount: attempt?.amount ?? payment.shown.total, currency: payment.currency,
            reference: attempt?.reference, attempt: attempt?.id,
            agrees: isShownAsPaid == (state == .paid))
    }
}
