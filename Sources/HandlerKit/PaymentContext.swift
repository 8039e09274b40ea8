public import BusinessMessages
public import Logging

/// The information about a payment besides the data of one callback.
public struct PaymentContext: Sendable {
    /// The business that asked for the payment.
    public let business: BusinessID
    /// The customer.
    public let customer: CustomerID
    /// The identifier of the message that asked for the payment, which sending it returned.
    public let message: MessageID
    /// The request.
    public let request: PaymentRequest
    /// The sums that the customer sees now; charge its total.
    public let sheet: PaymentSheet
    /// The device's call, with contacts and shipping method.
    public let callback: PaymentCallback
    /// The attempt to pay, 64 hexadecimal digits; empty for other callbacks than `paymentGateway`.
    ///
    /// The same token has the same attempt, so it serves as the idempotency key at the payment provider.
    public let attempt: String
    /// The decrypted token of a `paymentGateway` call; nil unless the business's file has `decrypt`.
    ///
    /// It has the number of the card (Apple, "Payment token format reference"): never store or log it.
    public let decryptedToken: JSONValue?
    /// The time after which the answer is dropped and the handler's task cancelled.
    public let deadline: ContinuousClock.Instant
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

/// An attempt to pay whose money goes back to the customer.
public struct PaymentReversal: Hashable, Sendable {
    /// The business.
    public let business: BusinessID
    /// The customer.
    public let customer: CustomerID
    /// The identifier of the message that asked for the payment.
    public let message: MessageID
    /// The attempt, 64 hexadecimal digits: the key that ``PaymentGatewayHandler/paymentGateway(_:_:)`` had.
    public let attempt: String
    /// The sum that the sheet showed, a decimal text.
    public let amount: String
    /// The currency, three letters of ISO 4217.
    public let currencyCode: String
    /// The provider's reference, when the handler named one.
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
