public import BusinessMessages

/// A handler that charges customers who pay with Apple Pay; a business needs it to send a `PaymentRequest`.
///
/// The server writes each attempt to disk before it calls ``paymentGateway(_:_:)``. After a late answer, a crash or a wrong
/// sum, the customer's device is told that the payment failed, and the server calls ``reversal(_:)`` until it succeeds.
public protocol PaymentGatewayHandler: Handler {
    /// Charges the customer through the payment provider, and returns what was charged.
    ///
    /// Use ``PaymentContext/attempt`` as the provider's idempotency key. The sum to charge is the total of
    /// ``PaymentContext/sheet``. The server waits 25 s.
    func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome

    /// Returns the money of an attempt whose success the device did not see; throws to be called again.
    ///
    /// The attempt may not have charged anything, and may be reversed already: both are a success.
    func reversal(_ reversal: PaymentReversal) async throws
}

/// A handler that adapts the sums to the customer's card.
public protocol PaymentMethodUpdateHandler: Handler {
    /// Answers the selection of another card; before the payment the server waits 25 s.
    func paymentMethodUpdate(_ method: PaymentMethod, _ context: PaymentContext) async throws -> SheetUpdate
}

/// A handler that adapts the sums to the shipping method; a request with shipping methods needs it.
public protocol ShippingMethodUpdateHandler: Handler {
    /// Answers the selection of another shipping method, whose identifier is one that the handler gave.
    func shippingMethodUpdate(
        _ method: PaymentSheet.ShippingMethod, _ context: PaymentContext
    ) async throws -> SheetUpdate
}

/// A handler that adapts the sums and the shipping methods to the customer's address.
public protocol ShippingContactUpdateHandler: Handler {
    /// Answers the selection of another address, which has no name and no street before the payment.
    func shippingContactUpdate(
        _ contact: PaymentContact, _ context: PaymentContext
    ) async throws -> SheetUpdate
}

/// A handler that learns of the order after the payment.
public protocol OrderTrackingHandler: Handler {
    /// Records the order; the device ignores the answer.
    func orderTracking(_ callback: PaymentCallback, _ context: PaymentContext) async throws
}

/// The answer of a handler to a callback of a payment.
public enum PaymentAnswer: Hashable, Sendable {
    /// The answer of the payment gateway.
    case outcome(PaymentOutcome)
    /// The answer to an update.
    case update(SheetUpdate)
    /// The answer to `orderTracking`.
    case received
}

/// Calls the handler's method for a payment's callback; returns nil when the handler does not conform to its protocol.
///
/// Errors of the handler are rethrown.
public func dispatch(
    _ context: PaymentContext, to handler: any Handler
) async throws -> PaymentAnswer? {
    let callback = context.callback
    if let handler = handler as? any EventHandler {
        guard handler.payments?.contains(callback.kind) == true else { return nil }
        return try await handler.payment(context)
    }
    switch callback.kind {
    case .paymentGateway:
        guard let handler = handler as? any PaymentGatewayHandler, let token = callback.token else {
            return nil
        }
        return .outcome(try await handler.paymentGateway(token, context))
    case .paymentMethodUpdate:
        guard let handler = handler as? any PaymentMethodUpdateHandler, let method = callback.paymentMethod
        else { return nil }
        return .update(try await handler.paymentMethodUpdate(method, context))
    case .shippingMethodUpdate:
        guard let handler = handler as? any ShippingMethodUpdateHandler, let method = callback.shippingMethod
        else { return nil }
        return .update(try await handler.shippingMethodUpdate(method, context))
    case .shippingContactUpdate:
        guard let handler = handler as? any ShippingContactUpdateHandler,
            let contact = callback.shippingContact
        else { return nil }
        return .update(try await handler.shippingContactUpdate(contact, context))
    case .orderTracking:
        guard let handler = handler as? any OrderTrackingHandler else { return nil }
        try await handler.orderTracking(callback, context)
        return .received
    }
}

/// Calls the handler's reversal; returns false when the handler has no payment gateway.
public func dispatch(_ reversal: PaymentReversal, to handler: any Handler) async throws -> Bool {
    if let handler = handler as? any EventHandler {
        guard handler.payments?.contains(.paymentGateway) == true else { return false }
        try await handler.reversal(reversal)
        return true
    }
    guard let handler = handler as? any PaymentGatewayHandler else { return false }
    try await handler.reversal(reversal)
    return true
}

/// Returns the callbacks of payments that a handler answers; nil while a program has not told them yet.
public func payments(of handler: any Handler) -> Set<PaymentCallback.Kind>? {
    if let handler = handler as? any EventHandler { return handler.payments }
    return Set(
        PaymentCallback.Kind.allCases.filter { kind in
            switch kind {
            case .paymentGateway: handler is any PaymentGatewayHandler
            case .paymentMethodUpdate: handler is any PaymentMethodUpdateHandler
            case .shippingMethodUpdate: handler is any ShippingMethodUpdateHandler
            case .shippingContactUpdate: handler is any ShippingContactUpdateHandler
            case .orderTracking: handler is any OrderTrackingHandler
            }
        })
}
