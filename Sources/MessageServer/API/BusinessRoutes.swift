import BalloonHTTP
import BalloonJSON
import BusinessMessages
import HandlerKit
import MessageStore

/// The operations on the businesses of a token and on their handlers.
///
/// - `GET /v1/businesses` lists each business with the status of its handler. `pending` is the number of its
///   unfinished messages. `counts` has the numbers of conversations that wait for a person or have one, and
///   of dead letters.
/// - `POST /v1/businesses/{slug}/handler/restart` restarts a handler outside the server.
/// - `GET /v1/businesses/{slug}/handler/log` answers with the latest log lines of the handler.
enum BusinessRoutes {
    static func make(_ registry: HandlerRegistry, _ store: Store) -> [APIRoute] {
        [
            APIRoute(.get, "/v1/businesses", may: .read, "List the businesses of the token", .businesses) {
                request in
                var entries: [(APIBusiness, HandlerStatus?)] = []
                for business in request.access.businesses(of: request.token) {
                    // A business that a reload has just added has no handler yet.
                    guard let handler = registry[business.id] else {
                        entries.append((business, nil))
                        continue
                    }
                    entries.append((business, await HandlerStatus(handler)))
                }
                return APIAnswer { writer in
                    writer.key("businesses")
                    writer.array { writer in
                        for (business, status) in entries { write(business, status, store, to: &writer) }
                    }
                }
            },
            APIRoute(
                .post, "/v1/businesses/{slug}/handler/restart", may: .operate, "Restart the handler",
                .restarted
            ) { request in
                try await handler(of: request, registry).restart()
                return APIAnswer { $0.field("restarted", true) }
            },
            APIRoute(
                .get, "/v1/businesses/{slug}/handler/log", may: .operate,
                "Read the handler's latest log lines",
                .logLines
            ) { request in
                let lines = try await handler(of: request, registry).report.log
                return APIAnswer { writer in
                    writer.key("lines")
                    writer.array { writer in for line in lines { writer.string(line) } }
                }
            },
        ]
    }

    private static func handler(
        of request: APIRequest, _ registry: HandlerRegistry
    ) throws(APIProblem) -> any EventHandler {
        let slug = try request.business.slug
        do throws(HandlerRefusal) {
            return try registry.operated(slug)
        } catch {
            throw APIProblem(.conflict, error.reason)
        }
    }

    private static func write(
        _ business: APIBusiness, _ status: HandlerStatus?, _ store: Store, to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.field("slug", business.slug)
            writer.field("businessID", business.id.rawValue)
            writer.field("name", business.name)
            writer.key("handler")
            writer.object { writer in
                writer.field("health", status?.health ?? "starting")
                writer.field("restarts", status?.restarts ?? 0)
                writer.field("inFlight", status?.inFlight ?? 0)
                writer.field("pending", store.pendingCount(of: business.id))
                writer.field("stuck", status?.stuck ?? 0)
                writer.field("downSeconds", status?.downSeconds)
            }
            writer.key("counts")
            writer.object { writer in
                let (waiting, person) = store.assignedCounts(of: business.id)
                writer.field("waiting", waiting)
                writer.field("person", person)
                writer.field("deadLetters", store.deadLetterCount(of: business.id))
            }
        }
    }
}
