import BalloonHTTP
import BusinessMessages
import MessageStore

/// The operations that claim a conversation for a person, release it, or close it.
///
/// - `POST …/conversations/{c}/claim` with `{"person":{"id","name"},"take":true}`.
/// - `POST …/{c}/release` with `{"to":"handler"}` or `"waiting"`, and optionally a `note`.
/// - `POST …/{c}/close`; the customer is not told, because Apple has no such message.
///
/// Each change is durable before the answer. The answer is the conversation as a GET shows it, with its new
/// `ETag`. The store compares `If-Match` and decides the change in one step, so that no other change can
/// happen in between.
struct AssignmentRoutes: Sendable {
    let store: Store
    let files: ConversationFiles
    let watch: AssignmentWatch

    private static let path = "/v1/businesses/{slug}/conversations/{c}"
    private static let ifMatch = APIParameter(
        "If-Match", .field,
        "An ETag of the conversation; if it is no longer the current one, the answer is 412.")

    func routes() -> [APIRoute] {
        func body(_ schema: JSONSchema, isRequired: Bool = true) -> APIRoute.Body {
            .json(maximumBytes: 64 << 10, schema, isRequired: isRequired)
        }
        return [
            APIRoute(
                .post, Self.path + "/claim", may: .send, headers: [Self.ifMatch], body: body(.claim),
                "Claim a conversation for a person",
                .conversation
            ) { try await change($0, Self.claim($0)) },
            APIRoute(
                .post, Self.path + "/release", may: .send, headers: [Self.ifMatch], body: body(.release),
                "Release a conversation to its handler, or let it wait for another person", .conversation
            ) { try await change($0, Self.release($0)) },
            APIRoute(
                .post, Self.path + "/close", may: .send, headers: [Self.ifMatch],
                body: body(.empty, isRequired: false), "Close a conversation", .conversation
            ) { request in
                if !request.body.isEmpty { _ = try request.object([]) }
                return try await change(request, .close)
            },
        ]
    }

    private static func claim(_ request: APIRequest) throws(APIProblem) -> AssignmentChange {
        let root = try request.object(["person", "take"])
        guard let person = root["person"] else { throw APIProblem(.badMember, "person is missing", at: root) }
        let takes = try root.flag("take")
        return .claim(try Person(api: person), takes: takes)
    }

    private static func release(_ request: APIRequest) throws(APIProblem) -> AssignmentChange {
        let root = try request.object(["to", "note"])
        let note = try root.given("note", "must be a text", \.string)
        return try root.needed("to", "must be handler or waiting") { to -> AssignmentChange? in
            switch to.string {
            case "handler": .releaseToHandler(note: note)
            case "waiting": .releaseToWaiting(note: note)
            default: nil
            }
        }
    }

    private func change(_ request: APIRequest, _ change: AssignmentChange) async throws -> APIAnswer {
        let business = try request.business.id
        let facts = try ConversationFacts.latest(of: request, files, store)
        guard let customer = facts.customer else { throw APIProblem(.notFound) }
        let tags = request.list("if-match")
        let assignment = try await store.assign(change, business, customer) {
            [identity = store.identity] assignment, isClosed in
            tags.map {
                EntityTag.isStrongMatch(
                    ConversationFacts.tag(assignment, isClosed: isClosed, in: identity), $0)
            } ?? true
        }
        if case .claim = change {
            watch.recordSign(in: ConversationID(business: business, customer: customer))
        }
        if assignment.isAssigned {
            watch.waits.end(in: ConversationID(business: business, customer: customer))
            watch.wakeUp()
        }
        return facts.changed(to: assignment).answer(in: store.identity)
    }
}
