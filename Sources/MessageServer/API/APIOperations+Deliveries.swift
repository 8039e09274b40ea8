import BalloonHTTP
import BalloonPOSIX
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
extension APIOperations {
    private static let deliveries = business + "/deliveries"
    private static let replies = business + "/replies"
    private static let maximumRecords = 1000
    /// The largest number that every JSON parser reads exactly (RFC 8259 §6).
    private static let maximumRecord: UInt64 = (1 << 53) - 1
    private static let inConversation = APIParameter(
        "conversation", .hash, "Entries of this conversation, by the name of its file.")
    private static let deadStatus = "dead"

    private static let listed = JSONObjectForm.listed(
        "deliveries", ShownDelivery.listed.form(named: "ListedDelivery"))
    private static let listedReplies = JSONObjectForm.listed("replies", ShownReply.form)
    private typealias Decision = (record: UInt64, result: DeadLetterResult, numbers: RecordNumbers)
    private static let decision = JSONObjectForm<Decision>(written: [
        JSONField("record", .integer) { $0.numbers.shown($0.record) },
        JSONField("result", .choice(["replayed", "alreadyReplayed"] + dropped + ["notDead", "unknown"])) {
            $0.result.name
        },
        JSONField("as", optional: .integer) { $0.result.replay.map($0.numbers.shown) },
    ])
    private static let dropped = ["dropped", "alreadyDropped"]
    private typealias Handled = (reply: ReplyID, result: String, record: UInt64?, numbers: RecordNumbers)
    private static let handledReply = JSONObjectForm<Handled>(written: [
        JSONField("reply", .shownReply) { $0.numbers.shown($0.reply) },
        JSONField("result", .choice(["retried", "alreadyRetried"] + dropped)) { $0.result },
        JSONField("as", optional: .integer) { $0.record.map($0.numbers.shown) },
    ]).form(named: "ReplyResult")
    private static let results = JSONObjectForm.listed("results", decision.form)

    private typealias DeadLetterChange =
        @Sendable ([UInt64], BusinessID) async throws -> [(record: UInt64, result: DeadLetterResult)]

    var deliveries: [APIRoute] {
        func decision(
            _ name: String, _ summary: String, _ change: @escaping DeadLetterChange
        ) -> APIRoute {
            APIRoute(
                .post, Self.deliveries + "/" + name, may: .operate,
                body: .json(maximumBytes: 1 << 16, .records), summary,
                Self.results.form(named: "Results").schema
            ) { try await decide($0, change) }
        }
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
                    Self.inConversation,
                    APIParameter("since", .time, "Deliveries of messages that arrived then or later."),
                    .limit, .cursor,
                ], "List deliveries, the latest first", Self.listed.form(named: "Deliveries").schema,
                answer: list),
            APIRoute(
                .get, Self.deliveries + "/{record}", may: .read, "Read a delivery",
                ShownDelivery.whole.form(named: "Delivery").schema,
                answer: delivery),
            decision("replay", "Replay dead letters") { try await store.replayDead($0, of: $1) },
            decision("drop", "Drop dead letters") { try await store.dropDead($0, of: $1) },
            APIRoute(
                .get, Self.replies, may: .operate,
                query: [
                    APIParameter(
                        "status", .choice(["queued", "refused", "expired", "failed"]),
                        "Replies of this status."),
                    Self.inConversation, .limit, .cursor,
                ], "List queued and unsent replies", Self.listedReplies.form(named: "Replies").schema,
                answer: listReplies),
            APIRoute(
                .post, Self.replies + "/{id}/retry", may: .operate, "Send an unsent reply again",
                Self.handledReply.schema
            ) { request in
                let id = try reply(request)
                let retried = try await store.retry([id], of: request.business.id).first
                let result = retried?.isRepetition == true ? "alreadyRetried" : "retried"
                return APIAnswer(
                    json: Self.handledReply.json(
                        (retried?.original ?? id, result, retried?.record, request.numbers)))
            },
            APIRoute(
                .post, Self.replies + "/{id}/drop", may: .operate, "Drop a queued or unsent reply",
                Self.handledReply.schema
            ) { request in
                let id = try reply(request)
                let before = try await store.drop(
                    [id], reason: ControlOperations.droppedReplyReason, of: request.business.id)
                let result = before.contains(id) ? "alreadyDropped" : "dropped"
                return APIAnswer(json: Self.handledReply.json((id, result, nil, request.numbers)))
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
        return APIAnswer(
            json: Self.listed.json(page.events.map { ShownDelivery(event: $0, numbers: request.numbers) }),
            fields: request.link(next: page.next.map { "\($0)" }))
    }

    private func delivery(_ request: APIRequest) async throws -> APIAnswer {
        let (record, business) = (try request.record, try request.business.id)
        switch try await journalReaders.reading(
            for: request.token, { try await store.delivery(record, of: business) })
        {
        case .unknown: throw APIProblem(.notFound)
        case .unread: throw APIProblem.journalUnread
        case .found(let trace):
            return APIAnswer(
                json: ShownDelivery.whole.json(
                    ShownDelivery(event: trace.event, replies: trace.replies, numbers: request.numbers)))
        }
    }

    private func decide(_ request: APIRequest, _ change: DeadLetterChange) async throws -> APIAnswer {
        let list = try request.object(["records"]).needed(
            "records", "must be a list of 1 to \(Self.maximumRecords) numbers"
        ) { $0.kind == .array && (1...Self.maximumRecords).contains($0.count) ? $0 : nil }
        let records = try list.elements.map { value throws(APIProblem) in
            guard let record = value.int.flatMap(UInt64.init(exactly:)), record <= Self.maximumRecord else {
                throw APIProblem(.badMember, "a record must be a whole number up to 2^53 - 1", at: value)
            }
            return request.numbers.record(record)
        }
        let results = try await change(records, request.business.id)
        return APIAnswer(json: Self.results.json(results.map { ($0.record, $0.result, request.numbers) }))
    }

    private func listReplies(_ request: APIRequest) async throws -> APIAnswer {
        var query = try Store.ReplyQuery(of: request.business.id)
        query.before = try request.position.flatMap { ReplyID($0) }
        query.limit = request.limit
        query.status = request["status"].flatMap(ReplyState.Status.init)
        query.conversation = request["conversation"].flatMap { ConversationDigest($0) }
        let page = try await journalReaders.reading(for: request.token) { try await store.replies(query) }
        return APIAnswer(
            json: Self.listedReplies.json(
                page.replies.map { ShownReply(reply: $0, numbers: request.numbers) }),
            fields: request.link(next: page.next.map { "\($0)" }))
    }

    private func reply(_ request: APIRequest) throws(APIProblem) -> ReplyID {
        guard let id = ReplyID(try request.path("id")) else { throw APIProblem(.notFound) }
        return request.numbers.reply(id)
    }
}

/// A delivery as a token sees it.
private struct ShownDelivery: Sendable {
    let event: JournalEvent
    var replies: [JournalReply] = []
    let numbers: RecordNumbers

    private static let members: [JSONField<ShownDelivery>] = [
        JSONField("record", .integer) { $0.numbers.shown($0.event.record) },
        JSONField("at", .time) { $0.event.at },
        JSONField("conversation", .hash) { ConversationFiles.name(of: $0.event.customer) },
        JSONField("message", .message) { $0.event.id },
        JSONField("kind", optional: .text) {
            $0.event.isReplyFailure ? $0.event.kind?.rawValue : $0.event.subscription.name
        },
        JSONField("status", .word) { $0.event.status },
        JSONField("reason", optional: .text) { $0.event.reason },
        JSONField("problems", optional: .value(.list(.answerProblem))) { $0.event.problems },
        JSONField("attempts", .integer) { $0.event.attempts },
        JSONField("next", optional: .time) { $0.event.next },
        JSONField("replayOf", optional: .integer) { $0.event.replayOf.map($0.numbers.shown) },
        JSONField("replayedAs", optional: .integer) { $0.event.replayedAs.map($0.numbers.shown) },
    ]
    static let listed = JSONObjectForm(
        written: members + [JSONField("replies", .list(.word)) { $0.event.replies }])
    static let whole = JSONObjectForm(
        written: members + [
            JSONField("replies", .list(ShownReply.form)) { delivery in
                delivery.replies.map { ShownReply(reply: $0, numbers: delivery.numbers) }
            }
        ])
}

/// A reply as a token sees it.
private struct ShownReply: Sendable {
    let reply: JournalReply
    let numbers: RecordNumbers

    static let form = JSONObjectForm<ShownReply>(written: [
        JSONField("id", .shownReply) { $0.numbers.shown($0.reply.id) },
        JSONField("at", .time) { $0.reply.decidedAt },
        JSONField("conversation", .hash) { ConversationFiles.name(of: $0.reply.customer) },
        JSONField("message", .message) { $0.reply.messageID }, JSONField("kind", .word) { $0.reply.kind },
        JSONField("status", .word) { $0.reply.status },
        JSONField("httpStatus", optional: .integer) { $0.reply.httpStatus },
        JSONField("reason", optional: .text) { $0.reply.reason },
        JSONField("attempts", .integer) { $0.reply.attempts },
        JSONField("next", optional: .time) { $0.reply.next },
    ]).form(named: "Reply")
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

extension JSONForm<String> {
    /// The id of a reply as the token sees it.
    fileprivate static let shownReply = JSONForm(
        .text, schema: #"{"type":"string","pattern":"^[0-9]+\\.[0-9]+$"}"#, { $0 }, { $0 })
}
