import BalloonHTTP
import BalloonJSON
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
            guard let question = Self.question(request) else {
                return HTTPResponse(.badRequest, text: "the path is /deliveries/BUSINESS/ID\n")
            }
            // Not on a shard: reading the journal and waiting take time.
            Task { @concurrent in responder.respond(await answer(question)) }
            return nil
        }
    }

    private struct Question: Sendable {
        let business: BusinessID
        let message: MessageID
        let wait: Duration
    }

    private static func question(_ request: HTTPRequest) -> Question? {
        let path = String(decoding: request.path.dropFirst(prefix.utf8.count), as: UTF8.self)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        let query = String(decoding: request.query, as: UTF8.self)
        let wait = query.hasPrefix("wait=") ? Int(query.dropFirst("wait=".count)) ?? 0 : 0
        return Question(
            business: BusinessID(parts[0].percentDecoded), message: MessageID(parts[1].percentDecoded),
            wait: .seconds(min(max(0, wait), maximumWait)))
    }

    private func answer(_ question: Question) async -> HTTPResponse {
        guard let waiter = watch.begin(question.message, to: question.business) else {
            return Self.unavailable("too many requests wait for deliveries")
        }
        let timer = Task {
            // A delivery that ends first cancels this sleep.
            try? await Task.sleep(for: question.wait)
            watch.end(waiter)
        }
        defer {
            timer.cancel()
            watch.end(waiter)
        }
        var wakeups = waiter.wakeups.makeAsyncIterator()
        while true {
            do {
                guard let trace = try await store.trace(of: question.message, to: question.business) else {
                    return HTTPResponse(.notFound, text: "no such message\n")
                }
                let handler = registry.all.first { $0.business == question.business }
                let answer = DeliveryAnswer(trace, waitingFor: handler)
                watch.setRecord(trace.event.record, for: waiter)
                if answer.isEnded { return HTTPResponse(.ok, json: answer.json) }
                guard await wakeups.next() != nil else { return HTTPResponse(.ok, json: answer.json) }
            } catch {
                return Self.unavailable("\(error)")
            }
        }
    }

    private static func unavailable(_ reason: String) -> HTTPResponse {
        HTTPResponse(.serviceUnavailable, json: JSONWriter.object { $0.field("error", reason) })
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
        package let id: MessageID
        /// The kind of the reply's message.
        package let kind: Kind
        /// The state of the reply.
        package let status: ReplyState.Status
        /// The gateway's HTTP status, if it answered.
        package let httpStatus: Int?
        /// The reason why the reply ended; nil when it is unknown.
        package let reason: String?
        /// The message for Apple, a JSON object.
        package let message: [UInt8]
    }

    /// The message's record in the journal.
    package let record: UInt64
    /// The state of the delivery.
    package let status: JournalEvent.Status
    /// Whether the delivery and all its replies have ended.
    package let isEnded: Bool
    /// The kind, once the message is decoded.
    package let kind: Kind?
    /// The number of handler calls that have ended.
    package let attempts: Int
    /// The reason of the state, if known.
    package let reason: String?
    /// The decided replies, in order.
    package let replies: [Reply]

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

    /// Parses an answer; nil when it is invalid.
    package init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root,
            let record = root["record"]?.int.flatMap(UInt64.init(exactly:)),
            let status = root["status"]?.string.flatMap(JournalEvent.Status.init),
            let isEnded = root["ended"]?.bool, let replies = root["replies"]?.elements
        else { return nil }
        self.record = record
        self.status = status
        self.isEnded = isEnded
        kind = root["kind"]?.string.flatMap(Kind.init)
        attempts = root["attempts"]?.int ?? 0
        reason = root["reason"]?.string
        self.replies = replies.compactMap(Reply.init)
        guard self.replies.count == replies.count else { return nil }
    }

    var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 1024) { writer in
            writer.field("record", Int(clamping: record))
            writer.field("status", status.rawValue)
            writer.field("ended", isEnded)
            writer.field("kind", kind?.rawValue)
            writer.field("attempts", attempts)
            writer.field("reason", reason)
            writer.key("replies")
            writer.array { writer in for reply in replies { reply.write(to: &writer) } }
        }
    }

    /// The path and query of a request for a message's delivery that waits at most `seconds`.
    package static func target(_ message: MessageID, to business: BusinessID, waiting seconds: Int) -> String
    {
        "/deliveries/\(business.rawValue.percentEncoded)/\(message.rawValue.percentEncoded)?wait=\(seconds)"
    }
}

extension DeliveryAnswer.Reply {
    fileprivate init?(_ value: JSONValue) {
        guard let id = value["id"]?.string, let kind = value["kind"]?.string.flatMap(Kind.init),
            let status = value["status"]?.string.flatMap(ReplyState.Status.init(rawValue:)),
            let message = value["message"]
        else { return nil }
        self.init(
            id: MessageID(id), kind: kind, status: status, httpStatus: value["httpStatus"]?.int,
            reason: value["reason"]?.string, message: Array(message.text))
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("id", id.rawValue)
            writer.field("kind", kind.rawValue)
            writer.field("status", status.rawValue)
            writer.field("httpStatus", httpStatus)
            writer.field("reason", reason)
            writer.key("message")
            writer.raw(message)
        }
    }
}
