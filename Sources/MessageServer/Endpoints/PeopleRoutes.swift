import BalloonHTTP
import BalloonJSON
import BusinessMessages

/// The businesses whose people are present to answer customers: `GET /people` and `POST /people` on
/// `DATA/control.sock`.
///
/// The GET answers `{"people":[{"business":"fish","open":false,"text":"Back at 9.","waiting":2,"person":1}]}`
/// with each business that has `people`. `waiting` is the number of its conversations that wait for a person,
/// and `person` the number that a person has.
///
/// The body of the POST is `{"business":"fish","open":false,"text":"Back at 9."}`. The answer has the same
/// object when the change is durable. The POST answers 404 for a business without `people`, 400 for another
/// object, and 503 when the disk does not write.
enum PeopleRoutes {
    static func make(
        _ registry: HandlerRegistry, _ watch: AssignmentWatch, audit: AuditLog? = nil
    ) -> [HTTPRoute] {
        [
            HTTPRoute(.get, "/people") { _, _ in HTTPResponse(.ok, json: list(registry, watch)) },
            HTTPRoute(.post, "/people", body: .collected(maximumBytes: 64 << 10)) { request, responder in
                // A body that is not JSON is not a valid request.
                guard let root = (try? JSONDocument(Array(request.body)))?.root,
                    let presence = Presence(root)
                else { return HTTPResponse(.badRequest, text: "the body is not a request for /people\n") }
                let slug = root["business"]?.string
                guard let business = registry.all.first(where: { $0.slug == slug })?.business,
                    watch.settings[business] != nil
                else { return HTTPResponse(.notFound, text: "no business of that name has people\n") }
                let author = AuditLog.Author.user(request.peerUser)
                // The change waits for the disk, so it must not run on the shard.
                Task { @concurrent in
                    let answer = await change(business, to: presence, watch, root)
                    var entry = AuditLog.Entry(
                        "POST /people", by: author, result: answer.status == .ok ? "done" : "failed")
                    entry.business = slug
                    await audit?.record(entry)
                    responder.respond(answer)
                }
                return nil
            },
        ]
    }

    private static func change(
        _ business: BusinessID, to presence: Presence, _ watch: AssignmentWatch, _ request: JSONValue
    ) async -> HTTPResponse {
        do {
            try await watch.presence.change(business, to: presence)
            return HTTPResponse(.ok, json: Array(request.text))
        } catch {
            return HTTPResponse(
                .serviceUnavailable, json: JSONWriter.object { $0.field("error", "\(error)") })
        }
    }

    private static func list(_ registry: HandlerRegistry, _ watch: AssignmentWatch) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 1024) { writer in
            writer.key("people")
            writer.array { writer in
                for business in registry.all where watch.settings[business.business] != nil {
                    let counts = watch.counts(of: business.business)
                    writer.object { writer in
                        writer.field("business", business.slug)
                        watch.presence[business.business].write(to: &writer)
                        writer.field("waiting", counts.waiting)
                        writer.field("person", counts.person)
                    }
                }
            }
        }
    }
}
