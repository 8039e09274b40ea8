import BalloonHTTP
package import BusinessMessages
package import MessageStore

/// `GET /deliveries/BUSINESS/ID?wait=SECONDS` on `DATA/control.sock`: the state of a message's delivery.
///
/// Business and id are percent-encoded. Answers 200 with a ``DeliveryAnswer`` when the delivery and all its
/// replies have ended, or after the wait, at most 20 s. Answers 404 when the journal has no such message, and
/// 400 for another path. Answers 503 with `{"error":"…"}` when the journal cannot be read or 64 requests wait
/// already.
struct DeliveryRoute: Sendable {
    let store: Store
    let registry: HandlerRegistry
    let watch: DeliveryWatch

    private static let prefix = "/deliveries/"
    /// The maximum wait in seconds; shorter than ``HTTPLimits/answerTimeout``.
    private static let maximumWait = 20

    var route: HTTPRoute {
        HTTPRoute(.get, Self.prefix + "*") { request, responder in
            let path = String(decoding: request.path.dropFirst(Self.prefix.utf8.count), as: UTF8.self)
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
                return HTTPResponse(.badRequest, text: "the path is /deliveries/BUSINESS/ID\n")
            }
            let (business, message) = (
                BusinessID(parts[0].percentDecoded), MessageID(parts[1].percentDecoded)
            )
            let query = String(decoding: request.query, as: UTF8.self)
            let wait = query.hasPrefix("wait=") ? Int(query.dropFirst("wait=".count)) ?? 0 : 0
            let limit = Duration.seconds(min(max(0, wait), Self.maximumWait))
            // Not on a shard: reading the journal and waiting take time.
            Task { @concurrent in responder.respond(await answer(message, to: business, within: limit)) }
            return nil
        }
    }

    private func answer(
        _ message: MessageID, to business: BusinessID, within limit: Duration
    ) async -> HTTPResponse {
        guard let waiter = watch.begin(message, to: business) else {
            return Self.unavailable("too many requests wait for deliveries")
        }
        let timer = Task {
            // A delivery that ends first cancels this sleep.
            try? await Task.sleep(for: limit)
            watch.end(waiter)
        }
        defer {
            timer.cancel()
            watch.end(waiter)
        }
        var wakeups = waiter.wakeups.makeAsyncIterator()
        while true {
            do {
                guard let trace = try await store.trace(of: message, to: business) else {
                    return HTTPResponse(.notFound, text: "no such message\n")
                }
                let handler = registry.all.first { $0.business == business }
                let answer = DeliveryAnswer(trace, waitingFor: handler)
                watch.setRecord(trace.event.record, for: waiter)
                guard !answer.isEnded, await wakeups.next() != nil else {
                    return HTTPResponse(.ok, json: DeliveryAnswer.form.json(answer))
                }
            } catch {
                return Self.unavailable("\(error)")
            }
        }
    }

    private static func unavailable(_ reason: String) -> HTTPResponse {
        HTTPResponse(.serviceUnavailable, json: JSONWriter.object(["error": reason]))
    }
}

/// The state of a message's delivery and of its replies.
///
/// ```json
/// {"record":57,"status":"handled","ended":true,"kind":"text","attempts":0,
///  "replies":[{"id":"…","kind":"text","status":"refused","httpStatus":400,"reason":"…","message":{…}}]}
/// ```
package struct DeliveryAnswer: Sendable {
    /// One decided reply to the message.
    package struct Reply: Sendable {
        /// The id of the reply's message.
        package fileprivate(set) var id: MessageID = MessageID("")
        /// The kind of the reply's message.
        package fileprivate(set) var kind: Kind = Kind.unrecognized
        /// The state of the reply.
        package fileprivate(set) var status: ReplyState.Status = ReplyState.Status.queued
        /// The gateway's HTTP status, if it answered.
        package fileprivate(set) var httpStatus: Int?
        /// The reason why the reply ended; nil when it is unknown.
        package fileprivate(set) var reason: String?
        /// The message for Apple, a JSON object.
        package fileprivate(set) var message: [UInt8] = []
    }

    /// The message's record in the journal.
    package fileprivate(set) var record: UInt64 = 0
    /// The state of the delivery.
    package fileprivate(set) var status: JournalEvent.Status = JournalEvent.Status.pending
    /// Whether the delivery and all its replies have ended.
    package fileprivate(set) var isEnded: Bool = false
    /// The kind, once the message is decoded.
    package fileprivate(set) var kind: Kind?
    /// The number of handler calls that have ended.
    package fileprivate(set) var attempts: Int = 0
    /// The reason of the state, if known.
    package fileprivate(set) var reason: String?
    /// The decided replies, in order.
    package fileprivate(set) var replies: [Reply] = []

    fileprivate init() {}

    init(_ trace: Store.Trace, waitingFor handler: BusinessHandler?) {
        record = trace.event.record
        status = trace.event.status
        isEnded = trace.isEnded
        kind = trace.event.kind
        attempts = trace.event.attempts
        let isPending = trace.event.status == .pending && trace.event.reason == nil
        reason = isPending ? handler.flatMap(Self.reason) : trace.event.reason
        replies = trace.replies.map { reply in
            Reply(
                id: reply.messageID, kind: reply.kind, status: reply.status, httpStatus: reply.httpStatus,
                reason: reply.reason, message: reply.message)
        }
    }

    /// The reason why an event waits for its handler; nil while the handler accepts events.
    private static func reason(of handler: BusinessHandler) -> String? {
        guard let since = handler.life?.downSince else { return nil }
        let seconds = (ContinuousClock.now - since).components.seconds
        return "its handler has been down for \(seconds) s; "
            + "for the reason, run balloon handlers logs \(handler.slug)"
    }

    package static let form = JSONObjectForm(
        DeliveryAnswer(),
        [
            JSONField("record", \.record, .record), JSONField("status", \.status, .word),
            JSONField("ended", \.isEnded, .flag), JSONField("kind", optional: \.kind, .word),
            JSONField("attempts", \.attempts, .integer, missing: 0),
            JSONField("reason", optional: \.reason, .text),
            JSONField("replies", \.replies, .list(Reply.form.form)),
        ])

    /// The path and query of a request for a message's delivery that waits at most `seconds`.
    package static func target(_ message: MessageID, to business: BusinessID, waiting seconds: Int) -> String
    {
        "/deliveries/\(business.rawValue.percentEncoded)/\(message.rawValue.percentEncoded)?wait=\(seconds)"
    }
}

extension DeliveryAnswer.Reply {
    fileprivate static let form = JSONObjectForm(
        DeliveryAnswer.Reply(),
        [
            JSONField("id", \.id, .message), JSONField("kind", \.kind, .word),
            JSONField("status", \.status, .word), JSONField("httpStatus", optional: \.httpStatus, .integer),
            JSONField("reason", optional: \.reason, .text), JSONField("message", \.message, .raw),
        ])
}
