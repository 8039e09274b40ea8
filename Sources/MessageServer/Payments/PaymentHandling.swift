import BalloonPOSIX
import BalloonWire
import HandlerKit
import Payments

/// The calls about payments of a business's handler, which is in this process or in another program.
protocol PaymentHandling: Sendable {
    /// Returns the callbacks that the handler of a business answers; nil until a handler program has declared
    /// them.
    func callbacks(of business: BusinessID) -> Set<PaymentCallback.Kind>?

    /// Charges the customer; called at most once for an attempt.
    ///
    /// Claims `departure` immediately before the handler is called, and does not call the handler when the flag
    /// is already claimed. Cancelling the task before that ends the wait for the handler. An error says with
    /// `PaymentCallError` how the call ended; any other error is the handler's own.
    func pay(_ call: PaymentHandlerCall, departure: OnceFlag) async throws -> PaymentOutcome

    /// Reverses the charge of an attempt, if there is one; returns only when no charge remains.
    func reverse(_ call: PaymentHandlerCall) async throws

    /// Answers an update of the sheet.
    func update(_ call: PaymentHandlerCall) async throws -> SheetUpdate

    /// Passes the device's report of a completed order to the handler.
    func track(_ call: PaymentHandlerCall) async throws
}

/// One call of a handler about a payment.
struct PaymentHandlerCall: Sendable {
    let business: BusinessID
    let customer: CustomerID
    /// The message that asked for the payment.
    let message: MessageID
    let requestIdentifier: String
    let request: PaymentRequest
    /// The device's request; nil for a reversal.
    let callback: PaymentCallback?
    /// The payment sheet in its current state, after all updates.
    let sheet: PaymentSheet
    /// The attempt that the call charges or reverses; nil for an update.
    ///
    /// For order tracking it is the paid attempt, if any.
    let attempt: PaymentAttempt?
    /// The decrypted token as JSON; nil unless the business decrypts tokens.
    var decryptedToken: Secret?
}

extension Payment.Outcome {
    /// The outcome of a call without a usable answer.
    init(_ end: PaymentCallEnd) {
        switch end {
        case .neverLeft: self = .notCalled
        case .seen: self = .ended
        case .unseen: self = .lost
        case .misanswered: self = .misanswered(reference: nil)
        }
    }
}
