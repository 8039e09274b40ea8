import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The operations that show what waits for people.
///
/// - `GET …/queues`: each queue with the number of its waiting and claimed conversations, how many are
///   overdue, and since when the first one waits.
/// - `GET …/waiting?queue limit cursor`: the waiting conversations in the order in which they are answered.
///
/// Both read the table of assignments only, so that they are fast with many waiting conversations.
extension APIOperations {
    private static let queues = JSONObjectForm<[QueueFigures]>.listed(
        "queues",
        JSONObjectForm<QueueFigures>(written: [
            JSONField("id", .text) { $0.queue.id }, JSONField("name", .text) { $0.queue.name },
            JSONField("priority", .integer) { $0.queue.priority },
            JSONField("firstAnswerSeconds", optional: .integer) {
                $0.queue.firstAnswerTime.map { Int($0.components.seconds) }
            },
            JSONField("answerSeconds", optional: .integer) {
                $0.queue.answerTime.map { Int($0.components.seconds) }
            },
            JSONField("waiting", .integer) { $0.waiting }, JSONField("person", .integer) { $0.person },
            JSONField("overdue", .integer) { $0.overdue }, JSONField("since", optional: .time) { $0.since },
            JSONField("opensAt", optional: .time) { $0.opensAt },
        ]).form)
    private static let waiting = JSONObjectForm<[Store.AssignedConversation]>.listed(
        "waiting",
        JSONObjectForm<Store.AssignedConversation>(written: [
            JSONField("id", .hash) { ConversationFiles.name(of: $0.customer) },
            JSONField("customer", .customer) { $0.customer },
            JSONField("since", optional: .time) { $0.assignment.since },
            JSONField("reason", optional: .text) { $0.assignment.reason },
            JSONField("note", optional: .text) { $0.assignment.note },
            JSONField("queue", optional: .written(.placement)) { $0.assignment.placement },
        ]).form)

    var queues: [APIRoute] {
        [
            APIRoute(
                .get, Self.business + "/queues", may: .read, "List the queues of a business",
                Self.queues.form(named: "Queues").schema
            ) { APIAnswer(json: Self.queues.json(watch.queues(of: try $0.business.id))) },
            APIRoute(
                .get, Self.business + "/waiting", may: .read,
                query: [
                    APIParameter(
                        "queue", .identifier(maximumBytes: Placement.maximumBytes),
                        "Conversations of this queue."),
                    .limit, .cursor,
                ], "List the waiting conversations in the order in which they are answered",
                Self.waiting.form(named: "Waiting").schema, answer: waiting),
        ]
    }

    private func waiting(_ request: APIRequest) throws -> APIAnswer {
        let business = try request.business.id
        let people = watch.settings[business] ?? PeopleConfiguration(text: "")
        let after = try request.position.map { text throws(APIProblem) in
            guard let rank = WaitingRank(text) else { throw APIProblem(.badCursor) }
            return rank
        }
        let page = store.waitingConversations(of: business, after: after, limit: request.limit) {
            waiting, _ in
            people.priority(of: waiting, for: nil, in: request["queue"])
        }
        return APIAnswer(
            json: Self.waiting.json(page.conversations), fields: request.link(next: page.next?.text))
    }
}
