import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The operations that claim a conversation for a person, release it, or close it.
///
/// - `POST …/conversations/{c}/claim` with `{"person":{"id","name"},"take":true,"opening":true}`. A token with a person needs no
///   `person`; it needs the right `supervise` to name another person, and to take.
/// - `POST …/{c}/release` with `{"to":"handler"}` or `"waiting"`, and optionally a `note`, or a `queue` in which it waits.
/// - `POST …/take-next`, optionally with a `queue`: the same for the conversation that is to be answered next.
/// - `POST …/{c}/decline` declines an offer, and `POST …/{c}/snooze` with `{"until":"…"}` puts the conversation aside.
/// - `POST …/{c}/close`; the customer is not told, because Apple has no such message.
///
/// Each change is durable before the answer. The answer is the conversation as a GET shows it, with its new
/// `ETag`. The store compares `If-Match` and decides the change in one step, so that no other change can
/// happen in between.
extension APIOperations {
    private static let ifMatch = APIParameter(
        "If-Match", .field,
        "An ETag of the conversation; if it is no longer the current one, the answer is 412.")

    var assignments: [APIRoute] {
        func body(_ schema: JSONSchema, isRequired: Bool = true) -> APIRoute.Body {
            .json(maximumBytes: 64 << 10, schema, isRequired: isRequired)
        }
        return [
            APIRoute(
                .post, Self.conversation + "/claim", may: .send, headers: [Self.ifMatch], body: body(.claim),
                "Claim a conversation for a person",
                .conversation
            ) { request in
                let says = try request.object(Self.claimMembers).flag("opening")
                return try await change(request, Self.claim(request), saysOpening: says)
            },
            APIRoute(
                .post, Self.conversation + "/release", may: .send, headers: [Self.ifMatch],
                body: body(.release),
                "Release a conversation to its handler, or let it wait for another person", .conversation
            ) { try await change($0, release($0)) },
            APIRoute(
                .post, Self.conversation + "/decline", may: .send, body: body(.named, isRequired: false),
                "Decline an offered conversation", .conversation
            ) {
                try await change($0, .decline(Self.person($0, in: $0.object(["person"], mayBeEmpty: true))))
            },
            APIRoute(
                .post, Self.conversation + "/snooze", may: .send, headers: [Self.ifMatch],
                body: body(.snooze),
                "Put a conversation aside until a time or the customer's next message", .conversation
            ) { try await change($0, Self.snooze($0)) },
            APIRoute(
                .post, Self.business + "/take-next", may: .send, body: body(.takeNext),
                "Claim the waiting conversation that is to be answered next", .taken, answer: takeNext),
            APIRoute(
                .post, Self.conversation + "/close", may: .send, headers: [Self.ifMatch],
                body: body(.empty, isRequired: false), "Close a conversation", .conversation
            ) { request in
                _ = try request.object([], mayBeEmpty: true)
                return try await change(request, .close)
            },
        ]
    }

    private static let claimMembers = ["person", "take", "opening"]

    private static func claim(_ request: APIRequest) throws(APIProblem) -> AssignmentChange {
        let root = try request.object(claimMembers)
        let takes = try root.flag("take")
        if takes { try request.requireSupervision() }
        return .claim(try person(request, in: root, mayBeOther: request.token.supervises), takes: takes)
    }

    private func release(_ request: APIRequest) throws -> AssignmentChange {
        let root = try request.object(["to", "note", "queue", "person"])
        let note = try root.given("note", "must be a text", \.string)
        let queue = try queue(in: root, request)
        let person = try root["person"].map { value throws(APIProblem) in try Person(api: value) }
        let people = watch.settings[try request.business.id] ?? PeopleConfiguration(text: "")
        let now = Timestamp.now()
        let current = try latest(request).facts.assignment
        let waits = people.queue(queue ?? current.placement?.queue)
        let end =
            people.openingTime(of: waits).end(of: Self.transferTime, since: now)
            ?? now.advanced(by: Self.transferTime)
        return try root.needed("to", "must be handler, or waiting, which a queue and a person need") {
            to -> AssignmentChange? in
            switch to.string {
            case "handler": queue == nil && person == nil ? .releaseToHandler(note: note) : nil
            case "waiting":
                .releaseToWaiting(
                    note: note, queue.map { Placement(queue: $0, rule: Placement.transfer) },
                    offer: person.map { Offer(to: $0, until: end) })
            default: nil
            }
        }
    }

    /// How long a transfer to a person may be accepted, before the conversation waits for everybody.
    private static let transferTime = Duration.seconds(600)
    /// The longest time for which a conversation may be put aside.
    private static let maximumSnoozeTime = Duration.seconds(90 * 86_400)

    private static func snooze(_ request: APIRequest) throws(APIProblem) -> AssignmentChange {
        let now = Timestamp.now()
        let until = try request.object(["until"]).given("until", "must be a time within the next 90 days") {
            value -> Timestamp? in
            guard let until = value.string.flatMap({ Timestamp(rfc3339: $0) }), until > now,
                until <= now.advanced(by: maximumSnoozeTime)
            else { return nil }
            return until
        }
        return .snooze(until: until)
    }

    private static func person(
        _ request: APIRequest, in root: JSONValue, mayBeOther: Bool = false
    ) throws(APIProblem) -> Person {
        guard let person = try request.person(in: root, mayBeOther: mayBeOther) else {
            throw APIProblem(.badMember, "person is missing", at: root)
        }
        return person
    }

    /// The queue that a body names; throws `bad-member` for an unknown one.
    func queue(in root: JSONValue, _ request: APIRequest) throws(APIProblem) -> String? {
        let queues = watch.settings[try request.business.id]?.queues ?? []
        return try root.given("queue", "must be the id of a queue") { value in
            queues.first { $0.id == value.string }?.id
        }
    }

    private func takeNext(_ request: APIRequest) async throws -> APIAnswer {
        let root = try request.object(["person", "queue"])
        let person = try Self.person(request, in: root)
        let (business, queue) = (try request.business.id, try queue(in: root, request))
        let people = watch.settings[business] ?? PeopleConfiguration(text: "")
        await watch.chooseQueues(of: business)
        let taken = try await store.claimNext(of: business, for: person, queue: { people.queue(of: $0)?.id })
        {
            people.priority(of: $0, for: person, in: queue, held: $1)
        }
        guard let taken else { return APIAnswer { _ in } }
        let facts = try ConversationFacts.read(
            ConversationFiles.name(of: taken.customer), of: business, files, lines: (50, 1 << 20)
        ) { _ in taken.assignment }?.completed(by: store, business)
        watch.recordSign(in: ConversationID(business: business, customer: taken.customer))
        return APIAnswer { writer in
            guard let facts else { return }
            writer.raw("conversation", facts.answer(in: store.identity).body)
        }.audited(store.audit(taken.assignment.assignee, of: business, taken.customer))
    }

    private func change(
        _ request: APIRequest, _ change: AssignmentChange, saysOpening: Bool = false
    ) async throws -> APIAnswer {
        let (facts, business, customer) = try latest(request)
        let tags = request.list("if-match")
        let conversation = ConversationID(business: business, customer: customer)
        let assignment = try await watch.assign(change, in: conversation, saysOpening: saysOpening) {
            [identity = store.identity, token = request.token] assignment, isClosed in
            let tag = ConversationFacts.tag(assignment, isClosed: isClosed, in: identity)
            if let tags, !EntityTag.isStrongMatch(tag, tags) { return .changed }
            // A claim is refused by the change itself, unless it takes.
            if case .claim = change { return nil }
            if case .decline = change { return nil }
            guard let holder = assignment.person, !token.supervises, holder.id != token.person?.id else {
                return nil
            }
            return .claimed(by: holder)
        }
        return facts.changed(to: assignment).answer(in: store.identity)
            .audited(store.audit(assignment.assignee, of: business, customer))
    }
}

extension Assignment {
    /// The person who has the conversation, or to whom it is offered; nil when nobody in particular answers.
    var assignee: Person? { person ?? offer?.person }
}

extension Store {
    /// Completes the line of the audit log about a change of a conversation; `assignee` answers since the change.
    func audit(
        _ assignee: Person? = nil, of business: BusinessID, _ customer: CustomerID
    ) -> @Sendable (inout AuditLog.Entry) -> Void {
        { entry in
            entry.conversations = self.ledgerNames(of: customer, business)
            entry.assigned = assignee?.id
        }
    }
}
