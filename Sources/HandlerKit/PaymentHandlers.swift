public import BusinessMessages

/// A handler that charges customers who pay with Apple Pay; a business needs it to send a `PaymentRequest`.
///
/// The server writes each attempt to disk before it calls ``paymentGateway(_:_:)``. If the answer is late,
/// the process crashes, or the charged sum is wrong, the server tells the customer's device that the payment
/// failed. It then calls ``reversal(_:)``, at once and again when the call can no longer charge.
public protocol PaymentGatewayHandler: Handler {
    /// Charges the customer through the payment provider, and returns the charged sum.
    ///
    /// Use ``PaymentContext/attempt`` as the provider's idempotency key. The sum to charge is the total of
    /// ``PaymentContext/sheet``. The device waits 25 s for the answer. The task is not cancelled then: a later
    /// answer still counts, and a later charge is reversed. Refuse to charge a key that was reversed.
    func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome

    /// Returns the money of an attempt that the customer's device did not see succeed.
    ///
    /// If the attempt charged nothing, or was reversed already, return normally: this is a success too. A
    /// reversal may overtake its charge, so remember its key. If the method throws, the server calls it again.
    func reversal(_ reversal: PaymentReversal) async throws
}

/// A handler that adapts the sums to the customer's card.
public protocol PaymentMethodUpdateHandler: Handler {
    /// Answers the selection of another card; the server waits at most 25 s for the answer.
    func paymentMethodUpdate(_ method: PaymentMethod, _ context: PaymentContext) async throws -> SheetUpdate
}

/// A handler that adapts the sums to the shipping method; a request with shipping methods needs it.
public protocol ShippingMethodUpdateHandler: Handler {
    /// Answers the selection of another shipping method, one of those that the handler offered.
    func shippingMethodUpdate(
        _ method: PaymentSheet.ShippingMethod, _ context: PaymentContext
    ) async throws -> SheetUpdate
}

/// A handler that adapts the sums and the shipping methods to the customer's address.
public protocol ShippingContactUpdateHandler: Handler {
    /// Answers the selection of another address; before the payment, the address has no name and no street.
    func shippingContactUpdate(
        _ contact: PaymentContact, _ context: PaymentContext
    ) async throws -> SheetUpdate
}

/// A handler that is told about the order after the payment.
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

/// Calls the handler's method for a payment callback.
///
/// Returns nil when the handler does not conform to the protocol of that callback. Errors of the handler are
/// rethrown.
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

/// Returns the payment callbacks that a handler answers; nil until a handler outside the process has reported
/// them.
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
