import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The operations that read and set whether people are present to answer a business's customers.
///
/// `GET …/people` answers `{"open":false,"text":"Back at 9."}`. `PUT …/people` takes such an object, and
/// answers with it after it is durable. While `open` is false, a customer who waits for a person gets `text`
/// instead of the configured `people.text`.
struct PresenceRoutes: Sendable {
    let watch: AssignmentWatch

    private static let path = "/v1/businesses/{slug}/people"

    func routes() -> [APIRoute] {
        [
            APIRoute(.get, Self.path, may: .read, "Read whether people are there", .presence) { request in
                let presence = watch.presence[try business(request)]
                return APIAnswer { presence.write(to: &$0) }
            },
            APIRoute(
                .put, Self.path, may: .send, body: .json(maximumBytes: 64 << 10, .presence),
                "Set whether people are there", .presence
            ) { request in
                let business = try business(request)
                let root = try request.object(["open", "text"])
                _ = try root.needed("open", "must be true or false", \.bool)
                guard let presence = Presence(root) else {
                    throw APIProblem(
                        .badMember,
                        "text must be a text of up to \(PeopleConfiguration.maximumTextBytes) bytes, and is required while open is false",
                        at: root["text"] ?? root)
                }
                do throws(SystemError) {
                    try await watch.presence.change(business, to: presence)
                } catch {
                    throw APIProblem(.unavailable, "the disk cannot be used")
                }
                return APIAnswer { presence.write(to: &$0) }
            },
        ]
    }

    private func business(_ request: APIRequest) throws(APIProblem) -> BusinessID {
        let business = try request.business.id
        guard watch.settings[business] != nil else {
            throw APIProblem(.conflict, "the business's file has no member people")
        }
        return business
    }
}
