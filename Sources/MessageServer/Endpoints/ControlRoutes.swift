import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import Logging
package import MessageStore

/// `POST /replay`, `/drop` and `/rebuild` on `DATA/control.sock`: what changes a data directory that a server owns.
///
/// The body is `{"records":[12,13]}`. The answer is 200 with `{"records":[57,58]}`, the new records of a replay, or 400
/// with `{"error":"…"}`, and then nothing was changed. `/rebuild` takes no body, and its answer is
/// `{"restoredLines":2,"repairedConversations":1,"lostLines":0}`. `GET /statistics` answers with what is pending, parked,
/// unreadable and set aside. `SendRoute` is there too, and `/livez` and `/readyz`
/// for who cannot check the public listener's certificate.
package enum ControlRoutes {
    /// The name of the socket in the data directory; only the directory's owner can reach it (mode 0600).
    package static let socketName = "control.sock"

    /// None when the path is too long for a socket; then only a stopped server's directory can be changed.
    static func listeners(
        _ directory: String, _ store: Store, others: [HTTPRoute], _ logger: Logger
    ) -> [HTTPListener] {
        guard let address = SocketAddress("unix:" + directory + "/" + socketName) else {
            logger.warning("the data directory's path is too long for a control socket")
            return []
        }
        return [HTTPListener(address, routes: make(store: store, logger) + others)]
    }

    static func make(store: Store, _ logger: Logger) -> [HTTPRoute] {
        [
            route("/replay") { records in try await store.replay(records) },
            route("/drop") { records in
                try await store.drop(records)
                return []
            },
            route("/events/drop") { records in
                Array(try await store.dropPending(records, reason: Store.droppedByOperator))
            },
            HTTPRoute(.get, "/statistics") { _, _ in HTTPResponse(.ok, json: store.statistics.json) },
            HTTPRoute(.post, "/rebuild") { _, responder in
                // The journal is read and conversations are written, which no shard waits for.
                Task { @concurrent in
                    do {
                        responder.respond(HTTPResponse(.ok, json: try await store.rebuild().json))
                    } catch {
                        logger.error("conversations cannot be rebuilt", metadata: ["error": "\(error)"])
                        responder.respond(HTTPResponse(.badRequest, json: refusal(error)))
                    }
                }
                return nil
            },
        ]
    }

    /// What was rebuilt, as an answer says it; nil when it is none.
    package static func rebuilt(in json: [UInt8]) -> Store.Rebuilt? { .init(json) }

    private static func route(
        _ path: String, _ change: @escaping @Sendable ([UInt64]) async throws -> [UInt64]
    ) -> HTTPRoute {
        HTTPRoute(.post, path, body: .collected(maximumBytes: 1 << 20)) { request, responder in
            guard let records = records(in: Array(request.body)) else {
                return HTTPResponse(.badRequest, text: "the body must be {\"records\":[…]}\n")
            }
            // The journal is read and written, which no shard waits for.
            Task { @concurrent in
                do {
                    responder.respond(HTTPResponse(.ok, json: answer(try await change(records))))
                } catch {
                    responder.respond(HTTPResponse(.badRequest, json: refusal(error)))
                }
            }
            return nil
        }
    }

    private static func answer(_ records: [UInt64]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("records")
            writer.array { writer in for record in records { writer.raw(Array("\(record)".utf8)) } }
        }
        return writer.finish()
    }

    private static func refusal(_ error: any Error) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { $0.field("error", "\(error)") }
        return writer.finish()
    }

    /// The record numbers in a body or an answer; nil when it is neither.
    package static func records(in json: [UInt8]) -> [UInt64]? {
        guard let values = (try? JSONDocument(json))?.root["records"]?.elements else { return nil }
        let records = values.compactMap { $0.int.flatMap { UInt64(exactly: $0) } }
        return records.count == values.count ? records : nil
    }
}
