import BalloonHTTP
import BalloonJSON
import HandlerKit

/// `GET /handlers`, `POST /handlers/restart` and `POST /handlers/logs` on `DATA/control.sock`: the status of
/// handlers.
///
/// The first answers
/// `{"handlers":[{"business":"demo","health":"ready","restarts":0,"process":4711,"inFlight":0,
/// "waiting":0,"stuck":0,"noiseLines":0}]}`. `health` is `none` for a business that only records, `waiting`
/// counts events that are not in flight yet, and `downSeconds` is present while a handler is down. The others
/// take `{"business":"demo"}` and answer `{"lines":["…"]}`, the latest log lines. They answer 404 when the
/// business has no handler, and 409 when the handler runs inside the server.
enum HandlerRoutes {
    static func make(_ registry: HandlerRegistry) -> [HTTPRoute] {
        [
            HTTPRoute(.get, "/handlers") { _, responder in
                // Ends when every handler has reported its status.
                Task { @concurrent in responder.respond(HTTPResponse(.ok, json: await list(registry))) }
                return nil
            },
            route("/handlers/restart", registry) { handler in
                await handler.restart()
                return []
            },
            route("/handlers/logs", registry) { handler in await handler.report.log },
        ]
    }

    private static func list(_ registry: HandlerRegistry) async -> [UInt8] {
        var reports: [(BusinessHandler, HandlerReport?)] = []
        for business in registry.all { reports.append((business, await business.life?.report)) }
        return JSONWriter.object(reservingCapacity: 1024) { writer in
            writer.key("handlers")
            writer.array { writer in
                for (business, report) in reports { write(business, report, to: &writer) }
            }
        }
    }

    private static func write(
        _ business: BusinessHandler, _ report: HandlerReport?, to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.field("business", business.slug)
            writer.field("health", report?.health.rawValue ?? "none")
            writer.field("restarts", report?.restarts)
            writer.field("process", report?.processID.map { Int($0) })
            writer.field("inFlight", business.inFlightCount)
            writer.field("waiting", business.waitingCount)
            writer.field("stuck", business.slots.stuckCount)
            writer.field("noiseLines", report?.noiseLines)
            let down = business.life?.downSince.map { .now - $0 }
            writer.field("downSeconds", down.map { Int($0.components.seconds) })
        }
    }

    private static func route(
        _ path: String, _ registry: HandlerRegistry,
        _ body: @escaping @Sendable (any EventHandler) async -> [String]
    ) -> HTTPRoute {
        HTTPRoute(.post, path, body: .collected(maximumBytes: 4096)) { request, responder in
            let slug = (try? JSONDocument(Array(request.body)))?.root["business"]?.string
            guard let life = registry.all.first(where: { $0.slug == slug })?.life else {
                return HTTPResponse(.notFound, text: "no business of that name has a handler\n")
            }
            guard let handler = life.handler as? any EventHandler else {
                return HTTPResponse(.conflict, text: "the handler runs inside the server\n")
            }
            // A restart waits for the end of the old process.
            Task { @concurrent in
                let lines = await body(handler)
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
