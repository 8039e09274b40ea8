import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore

/// The operations that read one conversation: its state, the lines of its file, and its attachments.
///
/// - `GET …/conversations/{c}`: the customer, the assignment to a handler or person, the last line, and the
///   facts about the device in the last 50 lines.
/// - `GET …/{c}/messages?before after limit`: the lines as the file has them, oldest first. They are the last
///   ones, the last before the line number `before`, or the first after `after`. A page has at most 4 MiB.
/// - `GET …/{c}/messages/{id}`: the latest line of a message, and the stored files of its attachments; a
///   message that is queued has no line yet.
/// - `GET …/messages/{id}/attachments/{n}`: the content of an attachment; see ``AttachmentAnswer``.
extension APIOperations {
    private static let maximumPageBytes = 4 << 20
    private static let number = APIParameter.Format.integer(1...(1 << 48))

    var messages: [APIRoute] {
        [
            APIRoute(.get, Self.conversation, may: .read, "Read the state of a conversation", .conversation) {
                request in
                var (facts, business, customer) = try latest(request)
                if facts.state != .closed {
                    facts.opening = watch.opening(
                        in: ConversationID(business: business, customer: customer), facts.assignment,
                        locale: facts.locale)
                }
                return facts.answer(in: store.identity)
            },
            APIRoute(
                .get, Self.conversation + "/messages", may: .read,
                query: [
                    APIParameter("before", Self.number, "Lines before the one with this number."),
                    APIParameter("after", Self.number, "Lines after the one with this number."), .limit,
                ], "List the lines of a conversation's file", .lines
            ) { request in try page(request) },
            APIRoute(
                .get, Self.conversation + "/messages/{id}", may: .read, "Read a message", Self.shown.schema
            ) { request in
                if let outcome = store.unwrittenOutcome(
                    of: MessageID(try request.path("id")), of: try request.business.id,
                    in: try request.path("c"))
                {
                    let status = (outcome?.status ?? .queued).rawValue
                    return APIAnswer(
                        json: Self.shown.json((status, outcome?.httpStatus, outcome?.reason, nil, [])))
                }
                let found = try message(request)
                let reason = try await reason(of: found.line, request)
                let text = request.numbers.shown(line: Array(found.text))
                return APIAnswer(
                    json: Self.shown.json(
                        (found.line.outcome, found.line.status, reason, text, found.attachedFiles)))
            },
            APIRoute(
                method: .get, path: Self.conversation + "/messages/{id}/attachments/{n}", right: .read,
                summary: "Download an attachment of a message", answer: .file,
                handler: .blocking { request, responder in
                    let found = try message(request)
                    let attached = found.attachedFiles
                    guard let index = Int(try request.path("n")), attached.indices.contains(index) else {
                        throw APIProblem(.notFound, "the message has no attachment of this number")
                    }
                    try await AttachmentAnswer(attached[index], of: found, index, in: attachments)
                        .send(to: request, responder)
                    return nil
                }),
        ]
    }

    /// Reads from the journal why a sent message was not accepted; nil for other messages, and when the journal
    /// no longer has it.
    private func reason(
        of line: ConversationLine, _ request: APIRequest
    ) async throws -> String? {
        guard let outcome = line.outcome, outcome != ReplyState.Status.accepted.rawValue else { return nil }
        let (business, record, id) = (try request.business.id, line.record, line.id)
        return try await journalReaders.reading(for: request.token) {
            try await store.reasonOfReply(id, to: record, of: business)
        }
    }

    /// A message; one that was sent may have no line yet.
    private typealias Shown = (
        outcome: String?, status: Int?, reason: String?, line: [UInt8]?, files: [RecordedFile]
    )
    private static let shown = JSONObjectForm<Shown>(written: [
        JSONField([("outcome", .outcome.optional)]) { $1.field("outcome", $0.outcome) },
        JSONField("status", optional: .integer) { $0.status },
        JSONField("reason", optional: .text) { $0.reason },
        JSONField("line", optional: JSONForm(.raw, schema: .line, { $0 }, { $0 })) { $0.line },
        JSONField([("files", .list(.file))]) { $1.fields(["files": $0.files]) },
    ]).form(named: "Message")

    private func page(_ request: APIRequest) throws -> APIAnswer {
        let (before, after) = (request.integer("before"), request.integer("after"))
        let place =
            after.map { ConversationFiles.PagePlace.after($0) } ?? before.map { .before($0) } ?? .latest
        let page = try files.page(
            of: request.business.id, named: request.path("c"), place, maximum: request.limit,
            maximumBytes: Self.maximumPageBytes)
        guard let page else { throw APIProblem(.notFound) }
        // A token that may answer reads for a person: each message of the customer counts once as a sign of life.
        if before == nil, request.token.rights.contains(.send),
            let line = page.lines.reversed().lazy.compactMap({ ConversationLine($0) }).first(
                where: \.isFromCustomer)
        {
            watch.recordReading(
                of: line.sequence,
                in: ConversationID(business: try request.business.id, customer: line.customer),
                by: request.token.person)
        }
        // Lines have consecutive numbers, so the number of lines up to `before` follows from the first one.
        let wanted =
            after == nil ? page.lines.count : before.map { max(0, $0 - page.first) } ?? page.lines.count
        var answer = APIAnswer { writer in
            writer.array("lines") { writer in
                for line in page.lines.prefix(wanted) { writer.raw(request.numbers.shown(line: line)) }
            }
        }
        let limit = request["limit"].map { [(name: "limit", value: $0)] } ?? []
        if after == nil, page.hasEarlier {
            answer.fields.append(request.link("next", [("before", "\(page.first)")] + limit))
        } else if after != nil, page.hasLater, before.map({ page.last + 1 < $0 }) ?? true {
            let end = before.map { [(name: "before", value: "\($0)")] } ?? []
            answer.fields.append(request.link("next", [("after", "\(page.last)")] + end + limit))
        }
        return answer
    }

    private func message(_ request: APIRequest) throws -> ConversationFiles.FoundMessage {
        do {
            let found = try files.message(
                MessageID(request.path("id")), of: request.business.id, named: request.path("c"))
            guard let found else { throw APIProblem(.notFound) }
            return found
        } catch ConversationFiles.UnfinishedSearch.tooManyLines {
            throw APIProblem(.unavailable, "the message is not among the last lines: read it by its number")
        } catch ConversationFiles.UnfinishedSearch.tooSlow {
            throw APIProblem(.unavailable, "the conversation is being read", retryAfter: 1)
        }
    }
}

/// The state of a conversation, and the facts in its last lines, such as the customer and the language.
struct ConversationFacts {
    let name: String
    let lines: [ConversationLine]
    private(set) var assignment: Assignment
    /// The customer's name and tags.
    private var details = CustomerDetails()
    /// The first words of a person who answers, with `{name}`.
    var opening: String?
    /// Whether the customer closed the conversation and has not written since; nil when the lines do not show it.
    private var closes: Bool?
    private var isClosed: Bool { closes ?? false }

    /// How far a second reading looks for the customer's last message.
    private static let furtherLines = (maximum: 200, bytes: 128 << 10)

    /// Reads a conversation with its last lines; nil when there is no such conversation.
    ///
    /// Typing has lines too, so that many lines can follow the customer's last message. When it is not among `lines`, the
    /// conversation is read once more, further back.
    static func read(
        _ name: String, of business: BusinessID, _ files: ConversationFiles,
        lines: (maximum: Int, bytes: Int), assignment: (CustomerID) throws -> Assignment
    ) throws -> ConversationFacts? {
        func facts(_ lines: (maximum: Int, bytes: Int)) throws -> ConversationFacts? {
            let page = try files.page(
                of: business, named: name, .latest, maximum: lines.maximum, maximumBytes: lines.bytes)
            return try page.map { try ConversationFacts(name: name, page: $0, assignment: assignment) }
        }
        let first = try facts(lines)
        guard let lines = first?.lines, let oldest = lines.first, oldest.sequence > 1,
            !lines.contains(where: \.isFromCustomer)
        else { return first }
        return try facts(furtherLines)
    }

    /// Returns this conversation with the customer's name and tags.
    ///
    /// Asks the store whether the customer closed it if its last lines do not show that, or with `asksAlways`.
    func completed(
        by store: Store, _ business: BusinessID, asksAlways: Bool = false
    ) throws -> ConversationFacts {
        guard let customer else { return self }
        var facts = self
        facts.details = try store.details(of: business, customer)
        if assignment.state == .handler, asksAlways || closes == nil {
            facts.closes = try store.isClosedByCustomer(business, customer)
        }
        return facts
    }

    /// Returns this conversation with another assignment.
    func changed(to assignment: Assignment) -> ConversationFacts {
        var facts = self
        (facts.assignment, facts.closes) = (assignment, false)
        return facts
    }

    /// The customer, as the last line names it; nil without lines.
    var customer: CustomerID? { lines.last?.customer }

    private init(
        name: String, page: ConversationFiles.Page, assignment: (CustomerID) throws -> Assignment
    ) throws {
        self.name = name
        lines = try page.lines.map { text in
            guard let line = ConversationLine(text) else { throw StoreError.damaged(file: name, line: 0) }
            return line
        }
        self.assignment = try lines.last.map { try assignment($0.customer) } ?? .handler
        closes = lines.last(where: \.isFromCustomer).map { $0.kind == .close }
    }

    /// The state as the API shows it.
    var state: Assignment.State { Self.state(assignment, isClosed: isClosed) }

    /// The state as the API shows it: an assignment to the handler is `closed` when the customer closed the
    /// conversation.
    private static func state(_ assignment: Assignment, isClosed: Bool) -> Assignment.State {
        assignment.state == .handler && isClosed ? .closed : assignment.state
    }

    /// Returns the `ETag` for changes with `If-Match`.
    ///
    /// It depends only on the store, the state, the person, the time and the queue of the assignment, so that messages
    /// do not change it.
    static func tag(_ assignment: Assignment, isClosed: Bool, in store: String) -> String {
        let person = assignment.person.map { "\($0.id)\u{0}\($0.name ?? "")" } ?? ""
        let state = state(assignment, isClosed: isClosed)
        // A conversation in no queue has the tag of earlier versions.
        let queue = assignment.placement.map { "\u{0}\($0.queue ?? "")" } ?? ""
        let text =
            "\(store)\u{0}\(state.rawValue)\u{0}\(person)\u{0}\(assignment.since?.rfc3339 ?? "")\(queue)"
        return EntityTag.covering(Array(text.utf8))
    }

    /// Returns the conversation as an answer with its `ETag`; `store` is the identity of the store.
    func answer(in store: String) -> APIAnswer {
        var answer = APIAnswer(json: Self.members.json(self))
        answer.fields.append(("ETag", Self.tag(assignment, isClosed: isClosed, in: store)))
        return answer
    }

    private var last: ConversationLine? { lines.last { !$0.isFilesOnly && $0.direction != .internal } }
    private var inbound: JSONValue? {
        lines.last { $0.direction == .inbound && !$0.isFilesOnly }?.message
    }

    /// The locale of the customer's last message.
    var locale: String? { inbound?["locale"]?.string }

    /// The members of a conversation.
    private static let members = JSONObjectForm<ConversationFacts>(written: [
        JSONField("id", .hash) { $0.name },
        JSONField([("customer", .text)]) { $1.field("customer", $0.customer?.rawValue) },
        JSONField("customerName", optional: .text) { $0.details.name },
        JSONField("tags", optional: .list(.text)) { $0.details.tags.isEmpty ? nil : $0.details.tags },
        JSONField([("consent", .consent.optional)]) { facts, writer in
            guard let consent = facts.details.consent else { return }
            writer.object("consent") { consent.write(to: &$0) }
        },
        JSONField("state", .choice(["handler", "waiting", "person", "closed"])) { $0.state.rawValue },
        JSONField("since", optional: .time) { $0.assignment.since },
        JSONField("person", optional: .written(.person)) { facts in
            facts.assignment.person.map {
                ["id": $0.id, "name": $0.name, "since": facts.assignment.since?.rfc3339] as JSONObject
            }
        },
        JSONField("reason", optional: .text) { $0.assignment.reason },
        JSONField("note", optional: .text) { $0.assignment.note },
        JSONField("queue", optional: .written(.placement)) { $0.assignment.placement },
        JSONField("offer", optional: .written(.offer)) { $0.assignment.offer },
        JSONField("snoozedUntil", optional: .time) { $0.assignment.snoozedUntil },
        JSONField("capabilities", optional: .text) { facts in
            facts.lines.last { $0.capabilities != nil }?.capabilities
        },
        JSONField("locale", optional: .text) { $0.locale },
        JSONField("intent", optional: .text) { $0.inbound?["intent"]?.string },
        JSONField("group", optional: .text) { $0.inbound?["group"]?.string },
        JSONField([("lines", .count)]) { $1.field("lines", $0.lines.last?.sequence) },
        JSONField("last", optional: ConversationLine.summarized) { $0.last },
        JSONField("lastInbound", optional: ConversationLine.summarized) {
            $0.lines.last(where: \.isFromCustomer)
        },
        JSONField("unansweredSince", optional: .time) { $0.unansweredSince },
        JSONField("opening", optional: .text) { $0.opening },
    ])
    static let form = members.form(named: "Conversation")

    /// The time of the customer's first message after the last answer, as far as the lines show it.
    ///
    /// An automatic text of the server and a message that was not accepted are no answers, and a tapback needs none; nil
    /// when nothing waits for an answer.
    private var unansweredSince: Timestamp? {
        guard state != .closed else { return nil }
        let answer = lines.lastIndex {
            $0.direction == .outbound && !$0.isFilesOnly && !$0.kind.isTyping && $0.author != .server
                && $0.outcome == ReplyState.Status.accepted.rawValue
        }
        return lines[(answer.map { $0 + 1 } ?? 0)...].first { $0.isFromCustomer && !$0.isTapback }?.at
    }
}

extension ConversationLine {
    /// Whether the customer sent the message on purpose: a typing indicator and a line of results are not.
    fileprivate var isFromCustomer: Bool { direction == .inbound && !isFilesOnly && !kind.isTyping }

    /// Whether the text is a reaction to a message, as far as it is recognised.
    var isTapback: Bool {
        kind == .text && message["body"]?.string.flatMap { Tapback(prose: $0) } != nil
    }

    fileprivate static let summarized = JSONObjectForm<ConversationLine>(written: [
        JSONField("seq", .integer) { $0.sequence }, JSONField("at", .time) { $0.at },
        JSONField("direction", .choice(["inbound", "outbound"])) { $0.direction.rawValue },
        JSONField("kind", .word) { $0.kind },
        JSONField("summary", .text) { $0.summary }, JSONField("outcome", optional: .text) { $0.outcome },
    ]).form

    /// The maximum length of a summary, in characters.
    private static let maximumSummaryBytes = 400

    /// A short summary of the message for people; it contains customer text.
    var summary: String {
        // The result of a sign-in or a payment is in the customer's answer only.
        if direction == .outbound, kind == .authentication { return "sign-in" }
        if direction == .outbound, kind == .applePay { return "payment request" }
        if message["type"]?.string == "richLink" {
            let link = message["richLinkData"] ?? message["preview"]
            let words = link?["title"]?.string ?? link?["url"]?.string ?? "link"
            return words.shortened(toBytes: Self.maximumSummaryBytes)
        }
        // The message is a value of a parsed JSON document, so parsing it cannot fail.
        guard let document = try? JSONDocument(Array(message.text)) else { return kind.rawValue }
        let event = InboundEvent.decode(message: document)
        let summary = event.offeredTitles ?? event.summary
        return summary.shortened(toBytes: Self.maximumSummaryBytes)
    }
}

extension InboundEvent {
    /// The titles of the choices in a quick reply to the customer; nil for other messages, and for the customer's
    /// answer.
    fileprivate var offeredTitles: String? {
        guard case .quickReply(let reply) = content, reply.selectedItem == nil,
            reply.selectedIdentifier == nil
        else { return nil }
        let titles = reply.items.compactMap(\.title)
        return titles.isEmpty ? nil : titles.joined(separator: ", ")
    }
}
