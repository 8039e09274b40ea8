import BalloonHTTP
import BalloonJSON
import BusinessMessages
import MessageStore

/// The operations for what people write about a customer.
///
/// - `POST …/conversations/{c}/notes` with `{"text":"…"}` writes a note at the end of the thread.
/// - `POST …/{c}/customer` with `{"name":"Ana","addTags":["vip"],"removeTags":["new"]}` changes the members that it has.
///
/// Both write an internal line of the conversation, which is never sent and which no handler gets.
extension APIOperations {
    private static let key = APIParameter(
        "Idempotency-Key", .key, "The same key means the same note, for this token and customer.")

    var customers: [APIRoute] {
        [
            APIRoute(
                .post, Self.conversation + "/notes", may: .send, headers: [Self.key],
                body: .json(maximumBytes: 64 << 10, .note), "Write an internal note", .noted, answer: note),
            APIRoute(
                .post, Self.conversation + "/customer", may: .send,
                body: .json(maximumBytes: 64 << 10, .customerChange), "Change a customer's name and tags",
                .conversation, answer: change),
        ]
    }

    private func note(_ request: APIRequest) async throws -> APIAnswer {
        let root = try request.object(["text", "person"])
        let demand = "must have 1 to \(InternalMessage.maximumNoteBytes) bytes, not only blanks"
        let text = try root.needed("text", demand) { value -> String? in
            guard let text = value.string, text.utf8.count <= InternalMessage.maximumNoteBytes,
                !text.allSatisfy(\.isWhitespace)
            else { return nil }
            return text
        }
        let (_, business, customer) = try latest(request)
        // A message with the same key has another id, because no token's name has a slash.
        let id =
            request.list("idempotency-key") == nil
            ? .random() : try request.idempotencyKey(about: "/note", business, customer).message
        try await store.record(
            .note(text), by: .person(try request.person(in: root)), as: id, of: business, customer)
        return APIAnswer { $0.field("id", id.rawValue) }.audited(store.audit(of: business, customer))
    }

    private func change(_ request: APIRequest) async throws -> APIAnswer {
        let root = try request.object(["name", "addTags", "removeTags", "person"])
        let name = try root.given(
            "name", "must have at most \(CustomerDetails.maximumBytes) bytes on one line"
        ) {
            $0.string.flatMap { $0.isEmpty || Self.isName($0) ? $0 : nil }
        }
        let (added, removed) = (try Self.tags("addTags", in: root), try Self.tags("removeTags", in: root))
        guard name != nil || !added.isEmpty || !removed.isEmpty else {
            throw APIProblem(.badMember, "the body changes nothing", at: root)
        }
        let (_, business, customer) = try latest(request)
        let tags = Set(try store.details(of: business, customer).tags).subtracting(removed).union(added)
        guard tags.count <= CustomerDetails.maximumTags else {
            throw APIProblem(.conflict, "a customer has at most \(CustomerDetails.maximumTags) tags")
        }
        try await store.record(
            .customer(name: name, addTags: added, removeTags: removed),
            by: .person(try request.person(in: root)), of: business, customer)
        return try latest(request).facts.answer(in: store.identity)
            .audited(store.audit(of: business, customer))
    }

    private static func tags(_ name: String, in root: JSONValue) throws(APIProblem) -> [String] {
        let demand =
            "must be a list of at most \(CustomerDetails.maximumTags) tags of 1 to \(CustomerDetails.maximumBytes) bytes"
        return try root.given(name, demand) { value -> [String]? in
            let tags = value.elements.compactMap(\.string)
            guard value.kind == .array, tags.count == value.elements.count,
                tags.count <= CustomerDetails.maximumTags, tags.allSatisfy(isName)
            else { return nil }
            return Set(tags).sorted()
        } ?? []
    }

    /// Whether a text is a name or a tag: on one line, and not too long.
    private static func isName(_ text: String) -> Bool {
        (1...CustomerDetails.maximumBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } && !text.allSatisfy(\.isWhitespace)
    }
}
