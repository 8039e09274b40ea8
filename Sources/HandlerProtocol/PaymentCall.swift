package import HandlerKit
package import Logging

/// The parameters of `payment`, and the body of an HTTP handler's request for a payment.
///
/// ```json
/// {"call": "shippingMethodUpdate", "business": "…", "customer": "…", "messageId": "…", "requestIdentifier": "…",
///  "deadlineMs": 25000, "request": {"paymentRequest": {…}, "receivedMessage": {…}},
///  "sheet": {"total": "63.99", "currency": "USD", "newTotal": {…}, "newLineItems": […]},
///  "payment": {"shippingMethod": {"identifier": "air", …}}}
/// {"call": "reversal", "business": "…", "customer": "…", "messageId": "…", "attempt": "…", "amount": "63.99",
///  "currency": "USD", "reference": "ch_1", "deadlineMs": 25000}
/// ```
/// `call` is the last component of the endpoint's path, or `reversal`. `payment` is the object that the
/// device sent, and `request` has no images. A `paymentGateway` call has `attempt`, and `decryptedToken` (the
/// token's content) if the business decrypts tokens.
///
/// The answer to an update may have `newTotal`, `newLineItems`, `newShippingMethods` and `errors`. The answer
/// to `paymentGateway` is `{"status": "STATUS_SUCCESS", "charged": "63.99", "reference": "…"}` or `{"status":
/// "STATUS_FAILURE", "errors": […]}`. The answer to `orderTracking` and `reversal` is any object.
package enum PaymentCall {
    /// The value of `call` for a reversal.
    package static let reversalName = "reversal"

    /// Writes the `params` for a payment callback.
    package static func write(_ context: PaymentContext, to writer: inout JSONWriter) {
        writer.fields([
            "call": context.callback.kind.rawValue, "business": context.business.rawValue,
            "customer": context.customer.rawValue, "messageId": context.message.rawValue,
            "requestIdentifier": context.requestIdentifier,
            "attempt": context.attempt.isEmpty ? nil : context.attempt,
            "decryptedToken": context.decryptedToken,
            "deadlineMs": max(0, (context.deadline - .now).milliseconds),
        ])
        var request = context.request
        // Omit images: a line has no room for them, and a callback does not need them.
        request.images = []
        // `request.json` is written by our own code, so parsing it succeeds.
        if let json = try? JSONDocument(request.json) { writer.field("request", json.root["payment"]) }
        writer.object("sheet") { writer in
            writer.fields(["total": context.sheet.total.amount, "currency": context.sheet.currencyCode])
            if let json = try? JSONDocument(context.sheet.answer(to: .unchanged)) {
                for (name, value) in json.root.members { writer.field(name, value) }
            }
        }
        writer.field("payment", context.callback.payment)
    }

    /// Writes the `params` for a reversal.
    package static func write(_ reversal: PaymentReversal, to writer: inout JSONWriter) {
        writer.fields([
            "call": Self.reversalName, "business": reversal.business.rawValue,
            "customer": reversal.customer.rawValue, "messageId": reversal.message.rawValue,
            "attempt": reversal.attempt, "amount": reversal.amount, "currency": reversal.currencyCode,
            "reference": reversal.reference, "deadlineMs": max(0, (reversal.deadline - .now).milliseconds),
        ])
    }

    /// Reads a handler's answer to a callback of this kind.
    package static func answer(
        _ result: JSONValue, to kind: PaymentCallback.Kind
    ) throws(PaymentAnswerProblem) -> PaymentAnswer {
        switch kind {
        case .paymentGateway: .outcome(try PaymentOutcome(json: result))
        case .orderTracking: .received
        case .paymentMethodUpdate, .shippingContactUpdate, .shippingMethodUpdate:
            .update(try SheetUpdate(json: result))
        }
    }

    /// Returns an answer as JSON, as ``answer(_:to:)`` reads it.
    package static func json(_ answer: PaymentAnswer) -> [UInt8] {
        switch answer {
        case .outcome(let outcome): outcome.json
        case .update(let update): update.json
        case .received: Array("{}".utf8)
        }
    }

    /// Parses the `params` of a payment callback; returns nil when they are those of a reversal.
    package static func context(
        _ params: JSONValue, logger: Logger
    ) throws -> PaymentContext? {
        guard let call = params["call"]?.string else { throw HandlerProtocolError.malformed("call") }
        guard call != Self.reversalName else { return nil }
        guard let kind = PaymentCallback.Kind(rawValue: call) else {
            throw HandlerProtocolError.malformed("call")
        }
        guard let request = params["request"], let sheet = params["sheet"] else {
            throw HandlerProtocolError.malformed("request")
        }
        let wrapped = JSONWriter.object(["payment": request])
        let body = JSONWriter.object([
            "requestIdentifier": params["requestIdentifier"], "payment": params["payment"],
        ])
        let asked = try PaymentRequest(json: try JSONDocument(wrapped).root)
        return PaymentContext(
            business: BusinessID(params["business"]?.string ?? ""),
            customer: CustomerID(params["customer"]?.string ?? ""),
            message: MessageID(params["messageId"]?.string ?? ""), request: asked,
            sheet: try PaymentSheet(asked, showing: sheet),
            callback: try PaymentCallback(kind, try JSONDocument(body).root),
            attempt: params["attempt"]?.string ?? "", decryptedToken: params["decryptedToken"],
            deadline: deadline(params), logger: logger)
    }

    /// Parses the `params` of a reversal.
    package static func reversal(_ params: JSONValue) throws(HandlerProtocolError) -> PaymentReversal {
        guard let attempt = params["attempt"]?.string, let amount = params["amount"]?.string,
            let currency = params["currency"]?.string
        else { throw .malformed("attempt") }
        return PaymentReversal(
            business: BusinessID(params["business"]?.string ?? ""),
            customer: CustomerID(params["customer"]?.string ?? ""),
            message: MessageID(params["messageId"]?.string ?? ""), attempt: attempt, amount: amount,
            currencyCode: currency, reference: params["reference"]?.string, deadline: deadline(params))
    }

    private static func deadline(_ params: JSONValue) -> ContinuousClock.Instant {
        .now + .milliseconds(min(max(0, params["deadlineMs"]?.int ?? 25000), 86_400_000))
    }
}
