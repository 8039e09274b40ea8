import BalloonPOSIX
import BusinessMessages
import MessageStore
import Payments

/// The content of an open payment: the payload of its request in the store.
///
/// `{"key":"…","session":{…},"message":"…","request":{"payment":{…}},"payment":{…}}`; `key` and `session` are
/// secrets and are removed when the gateway accepts the message.
struct PaymentPayload: Sendable {
    /// The part of the endpoints' paths that names the request or its business.
    var key: String?
    /// Apple's merchant session.
    var session: IssuedSession?
    /// The message that asked for the payment.
    let message: MessageID
    /// The request for the handler, without its images.
    let request: PaymentRequest
    /// The state of the payment: the sum, the sheet and the attempts.
    var payment: Payment

    init(
        key: String, session: IssuedSession, message: MessageID, request: PaymentRequest, payment: Payment
    ) {
        self.key = key
        self.message = message
        self.session = session
        self.payment = payment
        var bare = request
        bare.received = OutboundBubble(request.received.title)
        (bare.reply, bare.images) = (nil, [])
        self.request = bare
    }

    init?(_ json: [UInt8]?) {
        // The store wrote this JSON; a damaged payload is treated as a missing request.
        guard let json, let root = (try? JSONDocument(json, limits: .stored))?.root,
            let payment = root["payment"].flatMap({ Payment(json: $0) }), let request = root["request"],
            let request = try? PaymentRequest(json: request), let message = root["message"]?.string
        else { return nil }
        self.message = MessageID(message)
        self.payment = payment
        self.request = request
        key = root["key"]?.string
        session = root["session"].flatMap { IssuedSession(json: Array($0.text)) }
    }

    var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 4096) { writer in
            writer.field("key", key)
            if let session {
                writer.raw("session", session.json)
            }
            writer.field("message", message.rawValue)
            writer.raw("request", request.json)
            writer.raw("payment", payment.json)
        }
    }
}

extension OpenRequest {
    /// The payload of a payment; nil for a sign-in, and when the payload is damaged.
    var paymentPayload: PaymentPayload? { kind == .payment ? PaymentPayload(payload) : nil }

    /// Changes the payment of a request, unless `change` returns nil; nil also when the request has no payment
    /// that can be read.
    @discardableResult
    mutating func changePayment<Result>(_ change: (inout Payment) -> Result?) -> Result? {
        guard var payload = paymentPayload, let result = change(&payload.payment) else { return nil }
        set(payload)
        return result
    }

    /// Replaces the request's payload.
    mutating func set(_ payload: PaymentPayload) {
        set(payload: payload.json, deadline: payload.payment.endsAt, isBusy: payload.payment.isBusy)
    }
}
