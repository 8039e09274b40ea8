public import BusinessMessages
public import Logging

/// The information about a payment that does not come from the callback itself.
public struct PaymentContext: Sendable {
    /// The business that asked for the payment.
    public let business: BusinessID
    /// The customer.
    public let customer: CustomerID
    /// The identifier of the message that requested the payment.
    ///
    /// Sending the message returned the same identifier.
    public let message: MessageID
    /// The request.
    public let request: PaymentRequest
    /// The sums that the customer sees now; charge the total of the sheet.
    public let sheet: PaymentSheet
    /// The callback of the customer's device, with contacts and shipping method.
    public let callback: PaymentCallback
    /// The identifier of the attempt to pay, 64 hexadecimal digits; empty except in a `paymentGateway`
    /// callback.
    ///
    /// The same token always gives the same identifier: use it as the idempotency key at the payment
    /// provider.
    public let attempt: String
    /// The decrypted token of a `paymentGateway` callback; nil unless the business's file has `decrypt`.
    ///
    /// The token contains the card number (Apple, "Payment token format reference"): never store or log it.
    public let decryptedToken: JSONValue?
    /// The time until which the customer's device waits for the answer.
    ///
    /// The task of a `paymentGateway` callback is not cancelled then: a later answer still counts, and a later
    /// charge is reversed. Other callbacks are cancelled, and their answers ignored.
    public let deadline: ContinuousClock.Instant
    /// The end of a charging call to a handler outside the process; nil for other callbacks.
    package var callEnds: ContinuousClock.Instant?
    /// A logger; never log the token or a contact.
    public let logger: Logger

    /// Creates a context, in a server or in a handler's tests.
    public init(
        business: BusinessID, customer: CustomerID, message: MessageID, request: PaymentRequest,
        sheet: PaymentSheet, callback: PaymentCallback, attempt: String = "",
        decryptedToken: JSONValue? = nil, deadline: ContinuousClock.Instant, logger: Logger
    ) {
        self.business = business
        self.customer = customer
        self.message = message
        self.request = request
        self.sheet = sheet
        self.callback = callback
        self.attempt = attempt
        self.decryptedToken = decryptedToken
        self.deadline = deadline
        self.logger = logger
    }

    /// The identifier of the request, which is a secret.
    public var requestIdentifier: String { callback.requestIdentifier }
}

/// An attempt to pay whose money must be returned to the customer.
public struct PaymentReversal: Hashable, Sendable {
    /// The business.
    public let business: BusinessID
    /// The customer.
    public let customer: CustomerID
    /// The identifier of the message that asked for the payment.
    public let message: MessageID
    /// The identifier of the attempt, as ``PaymentGatewayHandler/paymentGateway(_:_:)`` got it in its
    /// context.
    public let attempt: String
    /// The sum that the sheet showed, a decimal text.
    public let amount: String
    /// The currency, three letters of ISO 4217.
    public let currencyCode: String
    /// The payment provider's reference for the charge; nil when the handler returned none.
    public let reference: String?
    /// The time after which the call counts as failed.
    public let deadline: ContinuousClock.Instant

    /// Creates a reversal.
    public init(
        business: BusinessID, customer: CustomerID, message: MessageID, attempt: String, amount: String,
        currencyCode: String, reference: String? = nil, deadline: ContinuousClock.Instant
    ) {
        self.business = business
        self.customer = customer
        self.message = message
        self.attempt = attempt
        self.amount = amount
        self.currencyCode = currencyCode
        self.reference = reference
        self.deadline = deadline
    }
}
