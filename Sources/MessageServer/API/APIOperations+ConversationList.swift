import BalloonHTTP
import BalloonJSON
import BusinessMessages
import MessageStore

/// The operation that lists the conversations of a business, latest first.
///
/// `GET …/conversations?state person queue tag customer kind since until q limit cursor`: `kind`, `since` and `until`
/// filter by the last line. `q` searches for a text, for a limited time: `searched` is the number of
/// conversations that were read, and a page without conversations may have a next page. `unreadable` is the
/// number of conversations that the page omits because their files are damaged or cannot be read.
extension APIOperations {
    /// The maximum number and bytes of the lines that a page reads of each conversation.
    private static let linesOfEach = (maximum: 10, bytes: 32 << 10)

    /// The conversations are written JSON, which is small; a line may have megabytes.
    private typealias Listed = (conversations: [[UInt8]], searched: Int?, unreadable: Int)
    private static let listed = JSONObjectForm<Listed>(written: [
        JSONField(
            "conversations", .list(JSONForm(.raw, schema: ConversationFacts.form.schema, { $0 }, { $0 }))
        ) { $0.conversations },
        JSONField("searched", optional: .integer) { $0.searched },
        JSONField("unreadable", optional: .integer) { $0.unreadable > 0 ? $0.unreadable : nil },
    ]).form(named: "Conversations")

    var conversationList: [APIRoute] {
        [
            APIRoute(
                .get, Self.business + "/conversations", may: .read,
                query: [
                    APIParameter(
                        "state", .choice(Assignment.State.allCases.map(\.rawValue)),
                        "Conversations in this state."),
                    APIParameter(
                        "person", .identifier(maximumBytes: Person.maximumBytes),
                        "Conversations that this person has, by the identifier."),
                    APIParameter(
                        "queue", .identifier(maximumBytes: Placement.maximumBytes),
                        "Waiting and claimed conversations of this queue."),
                    APIParameter(
                        "customer", .identifier(maximumBytes: InboundEnvelope.maximumIdentifierBytes),
                        "The conversation of this customer."),
                    APIParameter(
                        "kind", .choice(Kind.allCases.map(\.rawValue)),
                        "Conversations whose last line has this kind."),
                    APIParameter("since", .time, "Conversations whose last line was written then or later."),
                    APIParameter("until", .time, "Conversations whose last line was written before."),
                    APIParameter(
                        "tag", .identifier(maximumBytes: CustomerDetails.maximumBytes),
                        "Conversations that have this tag."),
                    APIParameter("q", .text(maximumBytes: 200), "Conversations that contain this text."),
                    .limit, .cursor,
                ], "List the conversations of a business, latest first", Self.listed.schema, answer: list)
        ]
    }

    private func list(_ request: APIRequest) async throws -> APIAnswer {
        let query = try query(request)
        let page =
            if request["q"] != nil || request["tag"] != nil {
                try store.search(query, for: request["q"], tag: request["tag"])
            } else {
                store.conversations(query)
            }
        guard let page else { throw unavailable }
        return try answer(request, page)
    }

    private var unavailable: APIProblem {
        guard case .loading(let part) = store.indexPhase else {
            return APIProblem(.indexLoading, retryAfter: 1)
        }
        return APIProblem(.indexLoading, "\(Int(part * 100)) % of the index are read", retryAfter: 1)
    }

    private func query(_ request: APIRequest) throws -> Store.ConversationQuery {
        let business = try request.business.id
        var query = Store.ConversationQuery(of: business)
        query.limit = request.limit
        query.kind = request["kind"].flatMap(Kind.init)
        query.since = request.time("since")
        query.until = request.time("until")
        if let text = try request.position {
            guard let position = Store.ConversationPosition(text) else { throw APIProblem(.badCursor) }
            query.position = position
        }
        let state = request["state"].flatMap(Assignment.State.init)
        let person = request["person"]
        let queue = request["queue"]
        if state == .handler, person == nil, queue == nil {
            query.excluding = store.heldConversations(of: business) { _ in true }
        } else if state != .closed && state != nil || person != nil || queue != nil {
            let people = watch.settings[business]
            query.only = store.heldConversations(of: business) {
                (state == nil || $0.state == state) && (person == nil || $0.person?.id == person)
                    && (queue == nil || people?.queue(of: $0)?.id == queue)
            }
        }
        if let customer = request["customer"].map({ CustomerID($0) }) {
            let isHeld = query.only?.contains(customer) ?? true
            query.only = isHeld ? [customer] : []
        }
        return query
    }

    private func answer(_ request: APIRequest, _ list: Store.ConversationPage) throws -> APIAnswer {
        let business = try request.business.id
        let page = try Self.page(
            of: list.conversations.map(\.digest.hexadecimal),
            in: request["state"].flatMap(Assignment.State.init)
        ) { name in
            try ConversationFacts.read(name, of: business, files, lines: Self.linesOfEach) {
                store.assignment(of: business, $0)
            }?.completed(by: store, business)
        }
        return APIAnswer(
            json: Self.listed.json((page.conversations, list.searched, list.unreadable + page.unreadable)),
            fields: request.link(next: list.next?.text))
    }

    /// Returns the JSON of the conversations in `state`, and the number of the unreadable ones.
    ///
    /// Each conversation is written before the next one is read, so that the lines of only one are in memory:
    /// the last line of each is read whatever its size.
    static func page(
        of names: [String], in state: Assignment.State?, read: (String) throws -> ConversationFacts?
    ) throws -> (conversations: [[UInt8]], unreadable: Int) {
        var (conversations, unreadable) = ([[UInt8]](), 0)
        for name in names {
            do {
                // Only the lines show that the customer closed a conversation that its handler has, so compare
                // the state again.
                guard let facts = try read(name), state == nil || state == facts.state else { continue }
                conversations.append(ConversationFacts.form.json(facts))
            } catch StoreError.quarantinedConversation, StoreError.damaged {
                // One damaged conversation must not make the whole list unavailable.
                unreadable += 1
            }
        }
        return (conversations, unreadable)
    }
}
