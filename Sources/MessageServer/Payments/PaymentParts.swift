import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import Payments

/// Adds the parts of a payment request that are created only at sending, and updates its open request.
///
/// The message in the journal has placeholders instead. Identifier, path and session are durable before the
/// message is sent. A repeated send therefore has the same bytes, except for a session that was about to
/// expire.
struct PaymentParts: Sendable {
    let requests: OpenRequests
    /// The merchants; nil in a command without a running server, which leaves payments in the outbox for the server.
    var settings: PaymentSettings?
    /// The client for merchant sessions; nil when `settings` is nil.
    var sessions: MerchantSessionClient?
    /// Returns the callbacks that the handler of a business answers; nil until a handler program has declared
    /// them.
    var callbacks: @Sendable (BusinessID) -> Set<PaymentCallback.Kind>? = { _ in [] }
    var now: @Sendable () -> Timestamp = { .now() }

    /// Whether the server adds parts to this message.
    static func isIncomplete(_ message: JSONValue) -> Bool {
        payment(of: message)?["endpoints"]?.equals(SignInRequest.placeholder) ?? false
    }

    /// Returns the message with its parts; a message without placeholders is returned unchanged.
    ///
    /// A payment whose own merchant session has expired is refused. Throws ``ReplyRefused``, and the disk's errors and
    /// temporary failures of Apple Pay's service, after which the send is retried.
    func complete(_ message: [UInt8], _ entry: OutboxEntry) async throws -> [UInt8] {
        guard entry.reply.kind == .applePay else { return message }
        let document = try JSONDocument(message, limits: .stored)
        guard Self.isIncomplete(document.root) else {
            // The session was valid when the message was written, but a message may wait in the outbox for
            // days.
            let session = Self.payment(of: document.root)?["merchantSession"].flatMap { MerchantSession($0) }
            if let expiry = session?.expiresAtMilliseconds, Int64(expiry) <= now().milliseconds {
                throw ReplyRefused(Self.expired)
            }
            return message
        }
        guard let settings, let sessions else {
            throw PartsMissing("the server adds the parts of a payment; it is sent when the server runs")
        }
        guard let business = settings[entry.business] else { throw ReplyRefused(Self.noMerchant) }
        guard let callbacks = callbacks(entry.business) else {
            throw PartsMissing("the handler has not told yet which payments it takes")
        }
        guard callbacks.contains(.paymentGateway) else { throw ReplyRefused(Self.noGateway) }
        guard let request = PaymentRequest(sent: document.root), let sheet = try? PaymentSheet(request) else {
            throw ReplyRefused("not sent: the payment's sums cannot be read")
        }
        if !sheet.shippingMethods.isEmpty, !callbacks.contains(.shippingMethodUpdate) {
            throw ReplyRefused(Self.noShipping)
        }
        let drawn = Drawn(paths: business.section.paths, slug: business.slug)
        let existing = try await requests.update(of: entry.id) { request, _ in request }
        let (identifier, key) = (
            existing?.requestIdentifier ?? drawn.identifier, existing?.paymentPayload?.key ?? drawn.key
        )
        if let existing, existing.paymentPayload?.key == nil || !existing.isUsable(at: now()) {
            throw ReplyRefused(Self.used)
        }
        guard let base = settings.base(of: key) else { throw ReplyRefused(Self.noMerchant) }
        let endpoints = Endpoints(
            base: base, callbacks: callbacks,
            identifier: business.section.paths == .constant ? identifier : nil)
        let session: IssuedSession
        do throws(MerchantSessionFailure) {
            session = try await self.session(
                existing?.paymentPayload?.session, business.section.merchant, endpoints.paymentGateway,
                sessions)
        } catch {
            if error.isRetryable { throw PartsMissing("\(error)") }
            throw ReplyRefused("not sent: \(error)")
        }
        var payment = Payment(
            currency: sheet.currencyCode, total: sheet.total.amount,
            shippingMethod: sheet.shippingMethods.first?.identifier, sheet: sheet.json)
        payment.send(sessionExpiresAt: session.expiresAt)
        let payload = PaymentPayload(
            key: key, session: session, message: entry.reply.id, request: request, payment: payment)
        do {
            let isKept = try await keep(
                payload, entry, identifier: identifier, drawn, isNew: existing == nil)
            guard isKept else { throw ReplyRefused(Self.used) }
        } catch StoreError.tooManyRequests(let maximum) {
            throw ReplyRefused("not sent: \(StoreError.tooManyRequests(maximum: maximum))")
        }
        return Self.message(
            document.root, endpoints, session, identifier: identifier,
            merchant: business.section.merchant.merchantIdentifier)
    }

    /// Returns the session of an earlier attempt to send, or a new session when that one is missing or
    /// expires soon.
    private func session(
        _ earlier: IssuedSession?, _ merchant: MerchantIdentity, _ gateway: String,
        _ client: MerchantSessionClient
    ) async throws(MerchantSessionFailure) -> IssuedSession {
        if let earlier, !earlier.needsRenewal(at: now()) { return earlier }
        return try await client.session(for: merchant, paymentGatewayURL: gateway)
    }

    /// Stores the payload in the open request; false when the customer has already used the request.
    ///
    /// The customer can use it when an earlier send arrived although the server did not get the answer. The
    /// request then keeps its attempts and its sum.
    private func keep(
        _ payload: PaymentPayload, _ entry: OutboxEntry, identifier: String, _ drawn: Drawn, isNew: Bool
    ) async throws -> Bool {
        guard isNew else {
            return try await requests.update(of: entry.id) { request, _ in
                guard request?.phase == .waiting, let stored = request?.paymentPayload?.payment,
                    stored.attempts.isEmpty, stored.shown.total == payload.payment.shown.total,
                    stored.shown.shippingMethod == payload.payment.shown.shippingMethod
                else { return false }
                request?.set(payload)
                return true
            }
        }
        _ = try await requests.request(of: entry.id) { now in
            var request = OpenRequest(
                .payment, business: entry.business, customer: entry.customer,
                requestIdentifier: identifier, entry: entry.id, payload: [],
                stateLifetime: Self.longestLifetime, releaseLifetime: .zero, at: now)
            request.set(payload)
            return (drawn.secret, request)
        }
        return true
    }

    /// Starts the lifetime of the request when its message was accepted, and removes the request's secrets.
    ///
    /// Otherwise removes the request, unless the customer has used it.
    func settle(_ entry: OutboxEntry, _ result: ReplyResult) async throws {
        guard entry.reply.kind == .applePay else { return }
        try await requests.update(of: entry.id) { request, now in
            guard var payload = request?.paymentPayload else { return }
            if result.status == .accepted {
                (payload.key, payload.session) = (nil, nil)
                request?.accept(at: now)
                request?.set(payload)
            } else if request?.phase == .waiting, payload.payment.attempts.isEmpty {
                // A request with an attempt is kept, because the attempt shows that the gateway accepted an
                // earlier send.
                request = nil
            }
        }
    }

    /// The random parts of a new request.
    private struct Drawn: Sendable {
        let identifier = MessageID.random().rawValue
        let key: String
        /// The secret whose hash names the request: the path's token, or the identifier when paths are
        /// constant.
        let secret: String

        init(paths: ApplePayConfiguration.Paths, slug: String) {
            switch paths {
            case .constant: (key, secret) = (slug, identifier)
            case .perRequest:
                let token = Base64.encode(randomBytes(32), alphabet: .url)
                (key, secret) = (token, token)
            }
        }
    }

    private struct Endpoints {
        let base: String
        let callbacks: Set<PaymentCallback.Kind>
        /// The request's identifier, which a constant path lacks and the fallback page needs; nil for a path
        /// per request.
        let identifier: String?

        var paymentGateway: String { base + "/" + PaymentCallback.Kind.paymentGateway.rawValue }

        var json: [UInt8] {
            JSONWriter.object { writer in
                for kind in PaymentCallback.Kind.allCases where callbacks.contains(kind) {
                    writer.field(kind.rawValue + "Url", base + "/" + kind.rawValue)
                }
                writer.field("fallbackUrl", base + "/fallback" + (identifier.map { "?request=\($0)" } ?? ""))
            }
        }
    }

    /// The longest possible lifetime of a merchant session.
    private static let longestLifetime = Duration.seconds(7 * 86_400)
    private static let noMerchant = "not sent: the business has no \"applePay\" in its file"
    private static let expired =
        "not sent: the payment's merchantSession has expired; ask Apple Pay for a new one and send it at once"
    private static let noGateway = "not sent: the business's handler has no payment gateway"
    private static let noShipping =
        "not sent: the payment has shippingMethods, but the handler answers no shippingMethodUpdate"
    /// The reason for a reply whose request the customer has used: an earlier attempt arrived, but its answer
    /// was lost.
    private static let used = "not sent again: the payment has been sent before"

    private static func payment(of message: JSONValue) -> JSONValue? {
        message["interactiveData"]?["data"]?["payment"]
    }

    private static func message(
        _ root: JSONValue, _ endpoints: Endpoints, _ session: IssuedSession, identifier: String,
        merchant: String
    ) -> [UInt8] {
        guard let payment = payment(of: root), let request = payment["paymentRequest"] else {
            return Array(root.text)
        }
        let filled = payment.replacing(members: [
            "endpoints": endpoints.json, "merchantSession": session.json,
            "paymentRequest": request.replacing(
                members: ["merchantIdentifier": JSONForm.text.json(merchant)], at: "applePay"),
        ])
        return root.replacing(
            members: ["payment": filled, "requestIdentifier": JSONForm.text.json(identifier)],
            at: "interactiveData", "data")
    }
}
