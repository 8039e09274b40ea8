import BalloonHTTP
import BalloonJSON
import HandlerKit

/// The status of handlers: `GET /handlers`, `POST /handlers/restart` and `POST /handlers/logs` on
/// `DATA/control.sock`.
///
/// `GET /handlers` answers
/// `{"handlers":[{"business":"demo","health":"ready","restarts":0,"process":4711,"inFlight":0,
/// "waiting":0,"stuck":0,"noiseLines":0}]}`. `health` is `none` for a business that only records. `waiting`
/// counts events that are not in flight yet, and `downSeconds` is present while a handler is down.
///
/// Both POST requests have the body `{"business":"demo"}` and get the latest log lines: `{"lines":["…"]}`.
/// They get 404 when the business has no handler, and 409 when the handler runs inside the server.
enum HandlerRoutes {
    static func make(_ registry: HandlerRegistry, audit: AuditLog? = nil) -> [HTTPRoute] {
        [
            HTTPRoute(.get, "/handlers") { _, responder in
                // Ends when every handler has reported its status.
                Task { @concurrent in responder.respond(HTTPResponse(.ok, json: await list(registry))) }
                return nil
            },
            route("/handlers/restart", registry, audit) { handler in
                await handler.restart()
                return []
            },
            route("/handlers/logs", registry, nil) { handler in await handler.report.log },
        ]
    }

    private static func list(_ registry: HandlerRegistry) async -> [UInt8] {
        var statuses: [HandlerStatus] = []
        for business in registry.all { statuses.append(await HandlerStatus(business)) }
        return JSONWriter.object(reservingCapacity: 1024) { writer in
            writer.key("handlers")
            writer.array { writer in
                for status in statuses { writer.object { status.write(to: &$0) } }
            }
        }
    }

    private static func route(
        _ path: String, _ registry: HandlerRegistry, _ audit: AuditLog?,
        _ body: @escaping @Sendable (any EventHandler) async -> [String]
    ) -> HTTPRoute {
        HTTPRoute(.post, path, body: .collected(maximumBytes: 4096)) { request, responder in
            // A body that is not JSON names no business.
            let slug = (try? JSONDocument(Array(request.body)))?.root["business"]?.string
            let handler: any EventHandler
            do throws(HandlerRefusal) { handler = try registry.operated(slug) } catch {
                return HTTPResponse(
                    error == .noHandler ? .notFound : .conflict, text: "\(error.reason)\n")
            }
            let author = AuditLog.Author.user(request.peerUser)
            // A restart waits for the end of the old process.
            Task { @concurrent in
                let lines = await body(handler)
                if let audit {
                    var entry = AuditLog.Entry("POST " + path, by: author, result: "done")
                    entry.business = slug
                    await audit.record(entry)
                }
                var answer = JSONWriter(reservingCapacity: 1024)
                answer.object { writer in
                    writer.key("lines")
                    writer.array { writer in for line in lines { writer.string(line) } }
                }
                responder.respond(HTTPResponse(.ok, json: answer.finish()))
            }
            return nil
        }
    }
}
