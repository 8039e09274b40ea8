public import HandlerKit
import Logging
import Synchronization

/// A customer at the payment sheet of a request, for a handler's tests: no server, no network, no bank.
///
/// ```swift
/// let customer = try TestPayment(with: Fishmonger(), request)
/// try await customer.selectsShippingMethod("air")
/// #expect(try await customer.authorizes() == .success(charged: "88.99", reference: "ch_1"))
/// ```
/// Every answer is checked as the server checks it; a problem is thrown as a `PaymentAnswerProblem`.
public final class TestPayment: Sendable {
    private let handler: any Handler
    private let request: PaymentRequest
    private let kept: Mutex<PaymentSheet>

    /// Opens the sheet of a request.
    public init(with handler: any Handler, _ request: PaymentRequest) throws(PaymentAnswerProblem) {
        self.handler = handler
        self.request = request
        kept = Mutex(try PaymentSheet(request))
    }

    /// The sums that the sheet shows.
    public var sheet: PaymentSheet { kept.withLock { $0 } }

    /// Selects a card: `credit`, `debit`, `prepaid` or `store`.
    @discardableResult
    public func selectsCard(_ type: String) async throws -> SheetUpdate {
        try await update(.paymentMethodUpdate) { writer in
            writer.object("paymentMethod") { $0.field("type", type) }
        }
    }

    /// Selects a shipping method by its identifier.
    @discardableResult
    public func selectsShippingMethod(_ identifier: String) async throws -> SheetUpdate {
        try await update(.shippingMethodUpdate) { $0.shippingMethod(identifier) }
    }

    /// Selects an address; the handler sees only town, postal code and country.
    @discardableResult
    public func selectsAddress(
        locality: String? = nil, postalCode: String? = nil, countryCode: String
    ) async throws -> SheetUpdate {
        try await update(.shippingContactUpdate) { writer in
            writer.field(
                "shippingContact",
                JSONObject(["locality": locality, "postalCode": postalCode, "countryCode": countryCode]))
        }
    }

    /// Authorizes the payment with a token that no bank accepts.
    ///
    /// Calls with the same `attempt` mean the same charge.
    public func authorizes(
        shippingMethod: String? = nil, attempt: String = "attempt"
    ) async throws -> PaymentOutcome {
        let answer = try await call(.paymentGateway, attempt) { writer in
            if let shippingMethod { writer.shippingMethod(shippingMethod) }
            writer.object("paymentToken") { writer in
                writer.field("transactionIdentifier", "test")
                writer.object("paymentData") { $0.field("data", "dGVzdA==") }
            }
        }
        guard case .outcome(let outcome) = answer else { throw TestConversationError.notSubscribed }
        try outcome.check(for: sheet)
        return outcome
    }

    /// Asks the handler to return the money of an attempt; throws what the handler throws.
    public func isReversed(attempt: String = "attempt", reference: String? = nil) async throws {
        let sheet = sheet
        let reversal = PaymentReversal(
            business: BusinessID("business"), customer: CustomerID("urn:mbid:customer"),
            message: MessageID("message"), attempt: attempt, amount: sheet.total.amount,
            currencyCode: sheet.currencyCode, reference: reference, deadline: .now + .seconds(25))
        guard try await dispatch(reversal, to: handler) else { throw TestConversationError.notSubscribed }
    }

    private func update(
        _ kind: PaymentCallback.Kind, _ payment: (inout JSONWriter) -> Void
    ) async throws -> SheetUpdate {
        guard case .update(let update) = try await call(kind, "", payment) else {
            throw TestConversationError.notSubscribed
        }
        try kept.withLock { $0 = try $0.applying(update, to: kind) }
        return update
    }

    private func call(
        _ kind: PaymentCallback.Kind, _ attempt: String, _ payment: (inout JSONWriter) -> Void
    ) async throws -> PaymentAnswer {
        let body = JSONWriter.object { writer in
            writer.fields(["requestIdentifier": "request", "version": "1.0"])
            writer.object("payment", payment)
        }
        let context = PaymentContext(
            business: BusinessID("business"), customer: CustomerID("urn:mbid:customer"),
            message: MessageID("message"), request: request, sheet: sheet,
            callback: try PaymentCallback(kind, try JSONDocument(body).root), attempt: attempt,
            deadline: .now + .seconds(25), logger: Logger(label: "handler"))
        guard let answer = try await dispatch(context, to: handler) else {
            throw TestConversationError.notSubscribed
        }
        return answer
    }
}

extension JSONWriter {
    fileprivate mutating func shippingMethod(_ identifier: String) {
        object("shippingMethod") { $0.field("identifier", identifier) }
    }
}
