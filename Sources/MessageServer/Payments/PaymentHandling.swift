import BalloonWire
import BusinessMessages
import Payments

/// The payments of a business's handler, whether it is in this process or not.
protocol PaymentHandling: Sendable {
    /// The callbacks that the handler of a business answers; nil while a program has not told them yet.
    func callbacks(of business: BusinessID) -> Set<PaymentCallback.Kind>?

    /// Charges the customer; called once for an attempt.
    func pay(_ call: PaymentHandlerCall) async throws -> PaymentOutcome

    /// Reverses the charge of an attempt, if there is one; returns when no charge exists any more.
    func reverse(_ call: PaymentHandlerCall) async throws

    /// Answers an update of the sheet.
    func update(_ call: PaymentHandlerCall) async throws -> SheetUpdate

    /// Learns of the order after a payment.
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
    /// The sheet in force.
    let sheet: PaymentSheet
    /// The attempt to charge or to reverse; nil for other calls.
    let attempt: PaymentAttempt?
    /// The decrypted token, JSON; nil unless the business decrypts tokens.
    var decryptedToken: Secret?
}
