import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore
import Synchronization

/// The operations on deliveries and replies of a business: lists of them, and the decisions to replay, retry
/// or drop them.
///
/// No answer has the content of a message, because the journal also has content that the conversation's file
/// must omit. The lists cover deliveries of any status, as far back as the journal reaches, and replies that
/// are queued or dead letters. A request reads the journal for a limited time. A page may therefore have
/// fewer entries than its limit, or none, although more pages follow.
struct DeliveryOperations: Sendable {
    let store: Store
    /// Counts the requests of each token that read the journal.
    let journalReaders: InFlightOperations

    private static let deliveries = "/v1/businesses/{slug}/deliveries"
    private static let replies = "/v1/businesses/{slug}/replies"
    private static let maximumRecords = 1000
    /// The largest number that every JSON parser reads exactly (RFC 8259 §6).
    private static let maximumRecord: UInt64 = (1 << 53) - 1
    private static let conversation = APIParameter(
        "conversation", .hash, "Entries of this conversation, by the name of its file.")
    private static let deadStatus = "dead"

    func routes() -> [APIRoute] {
        let body = APIRoute.Body.json(maximumBytes: 1 << 16)
        return [
            APIRoute(
                .get, Self.deliveries, may: .read,
                query: [
                    APIParameter(
                        "status",
                        .choice([Self.deadStatus] + JournalEvent.Status.allCases.map(\.rawValue)),
                        "Deliveries of this status; dead is rejected or failed."),
                    APIParameter(
                        "kind", .choice(Kind.allCases.map(\.rawValue)), "Deliveries of messages of this kind."
                    ),
                    Self.conversation,
                    APIParameter("since", .time, "Deliveries of messages that arrived then or later."),
                    .limit, .cursor,
                ], "List deliveries, the latest first", .deliveries, answer: list),
            APIRoute(
                .get, Self.deliveries + "/{record}", may: .read, "Read a delivery", .delivery,
                answer: delivery),
            APIRoute(
                .post, Self.deliveries + "/replay", may: .operate, body: body, "Replay dead letters", .results
            ) { request in
                try await decide(request) { try await store.replayDead($0, of: $1) }
            }.describing(body: .records),
            APIRoute(
                .post, Self.deliveries + "/drop", may: .operate, body: body, "Drop dead letters", .results
            ) { request in
                try await decide(request) { try await store.dropDead($0, of: $1) }
            }.describing(body: .records),
            APIRoute(
                .get, Self.replies, may: .operate,
                query: [
                    APIParameter(
                        "status", .choice(["queued", "refused", "expired", "failed"]),
                        "Replies of this status."),
                    Self.conversation, .limit, .cursor,
                ], "List queued and unsent replies", .replies, answer: listReplies),
            APIRoute(
                .post, Self.replies + "/{id}/retry", may: .operate, "Send an unsent reply again", .replyResult
            ) { request in
                let retried = try await store.retry([reply(request)], of: request.business.id)
                return APIAnswer { writer in
                    writer.field("reply", retried.first.map { request.numbers.shown($0.reply) })
                    writer.field("result", retried.first?.isRepetition == true ? "alreadyRetried" : "retried")
                    writer.field("as", retried.first.map { request.numbers.shown($0.record) as Int })
                }
            },
            APIRoute(
                .post, Self.replies + "/{id}/drop", may: .operate, "Drop a queued or unsent reply",
                .replyResult
            ) { request in
                let id = try reply(request)
                let before = try await store.drop(
                    [id], reason: Operations.droppedReplyReason, of: request.business.id)
                return APIAnswer { writer in
                    writer.field("reply", request.numbers.shown(id))
                    writer.field("result", before.contains(id) ? "alreadyDropped" : "dropped")
                }
            },
        ]
    }

    private func list(_ request: APIRequest) async throws -> APIAnswer {
        var query = try Store.DeliveryQuery(of: request.business.id)
        query.before = try request.position.flatMap { UInt64($0) }
        query.limit = request.limit
        query.kind = request["kind"].flatMap(Kind.init)
        query.conversation = request["conversation"].flatMap { ConversationDigest($0) }
        query.since = request.time("since")
        if let status = request["status"] {
            query.statuses = JournalEvent.Status(rawValue: status).map { .only($0) } ?? .dead
        }
        let page = try await journalReaders.reading(for: request.token) { try await store.deliveries(query) }
        var answer = APIAnswer { writer in
            writer.key("deliveries")
            writer.array { writer in
                for event in page.events { Self.write(event, request.numbers, to: &writer) }
            }
        }
        answer.fields = request.link(next: page.next.map { "\($0)" })
        return answer
    }

    private func delivery(_ request: APIRequest) async throws -> APIAnswer {
        let (record, business) = (try request.record, try request.business.id)
        switch try await journalReaders.reading(
            for: request.token, { try await store.delivery(record, of: business) })
        {
        case .unknown: throw APIProblem(.notFound)
        case .unread: throw APIProblem.journalUnread
        case .found(let trace):
            return APIAnswer { writer in
                Self.writeMembers(trace.event, request.numbers, to: &writer)
                writer.key("replies")
                writer.array { writer in
                    for reply in trace.replies { Self.write(reply, request.numbers, to: &writer) }
                }
            }
        }
    }

    private func decide(
        _ request: APIRequest,
        _ change: ([UInt64], BusinessID) async throws -> [(record: UInt64, result: DeadLetterResult)]
    ) async throws -> APIAnswer {
        let root = try request.object(["records"])
        guard let list = root["records"], list.kind == .array, (1...Self.maximumRecords).contains(list.count)
        else {
            throw APIProblem(
                .badMember, "records must be a list of 1 to \(Self.maximumRecords) numbers",
                at: root["records"] ?? root)
        }
        let records = try list.elements.map { value throws(APIProblem) in
            guard let record = value.int.flatMap(UInt64.init(exactly:)), record <= Self.maximumRecord else {
                throw APIProblem(.badMember, "a record must be a whole number up to 2^53 - 1", at: value)
            }
            return request.numbers.record(record)
        }
        let results = try await change(records, request.business.id)
        return APIAnswer { writer in
            writer.key("results")
            writer.array { writer in
                for (record, result) in results {
                    writer.object { writer in
                        writer.field("record", request.numbers.shown(record) as Int)
                        writer.field("result", result.name)
                        writer.field("as", result.replay.map { request.numbers.shown($0) as Int })
                    }
                }
            }
        }
    }

    private func listReplies(_ request: APIRequest) async throws -> APIAnswer {
        var query = try Store.ReplyQuery(of: request.business.id)
        query.before = try request.position.flatMap { ReplyID($0) }
        query.limit = request.limit
        query.status = request["status"].flatMap(ReplyState.Status.init)
        query.conversation = request["conversation"].flatMap { ConversationDigest($0) }
        let page = try await journalReaders.reading(for: request.token) { try await store.replies(query) }
        var answer = APIAnswer { writer in
            writer.key("replies")
            writer.array { writer in
                for reply in page.replies { Self.write(reply, request.numbers, to: &writer) }
            }
        }
        answer.fields = request.link(next: page.next.map { "\($0)" })
        return answer
    }

    private func reply(_ request: APIRequest) throws(APIProblem) -> ReplyID {
        guard let id = ReplyID(try request.path("id")) else { throw APIProblem(.notFound) }
        return request.numbers.reply(id)
    }

    private static func write(_ event: JournalEvent, _ numbers: RecordNumbers, to writer: inout JSONWriter) {
        writer.object { writer in
            writeMembers(event, numbers, to: &writer)
            writer.key("replies")
            writer.array { writer in for reply in event.replies { writer.string(reply.rawValue) } }
        }
    }

    private static func writeMembers(
        _ event: JournalEvent, _ numbers: RecordNumbers, to writer: inout JSONWriter
    ) {
        writer.field("record", numbers.shown(event.record) as Int)
        writer.field("at", event.at.rfc3339)
        writer.field("conversation", ConversationFiles.name(of: event.customer))
        writer.field("message", event.id.rawValue)
        writer.field("kind", event.isReplyFailure ? event.kind?.rawValue : event.subscription.name)
        writer.field("status", event.status.rawValue)
        writer.field("reason", event.reason)
        writer.field("problems", event.problems)
        writer.field("attempts", event.attempts)
        writer.field("next", event.next?.rfc3339)
        writer.field("replayOf", event.replayOf.map { numbers.shown($0) as Int })
        writer.field("replayedAs", event.replayedAs.map { numbers.shown($0) as Int })
    }

    private static func write(_ reply: JournalReply, _ numbers: RecordNumbers, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("id", numbers.shown(reply.id))
            writer.field("at", reply.decidedAt.rfc3339)
            writer.field("conversation", ConversationFiles.name(of: reply.customer))
            writer.field("message", reply.messageID.rawValue)
            writer.field("kind", reply.kind.rawValue)
            writer.field("status", reply.status.rawValue)
            writer.field("httpStatus", reply.httpStatus)
            writer.field("reason", reply.reason)
            writer.field("attempts", reply.attempts)
            writer.field("next", reply.next?.rfc3339)
        }
    }
}

extension DeadLetterResult {
    /// The result's name in answers.
    fileprivate var name: String {
        switch self {
        case .replayed: "replayed"
        case .alreadyReplayed: "alreadyReplayed"
        case .dropped: "dropped"
        case .alreadyDropped: "alreadyDropped"
        case .notDead: "notDead"
        case .unknown: "unknown"
        }
    }

    /// The record of the replay; nil when the dead letter was not replayed.
    fileprivate var replay: UInt64? {
        switch self {
        case .replayed(let record), .alreadyReplayed(let record): record
        case .dropped, .alreadyDropped, .notDead, .unknown: nil
        }
    }
}
