import BalloonHTTP
import BalloonJSON
import BusinessMessages
import Logging

/// The minimum level of log lines: `GET /log-level` and `POST /log-level` on `DATA/control.sock`.
///
/// Both answer `{"level":"info"}`. During a change they answer
/// `{"level":"info","change":{"level":"debug","business":"fish","seconds":598}}`. The body of the POST is
/// `{"level":"debug","seconds":600}`, with `"business":"fish"` for the lines of one business, or
/// `{"reset":true}`. The POST answers 404 for an unknown business. It answers 400 for another object, an
/// unknown level, or a time outside 1 second to 1 day.
struct LogLevelRoute: Sendable {
    let levels: LogLevels
    let registry: HandlerRegistry
    var audit: AuditLog?
    let logger: Logger

    /// The maximum time of a change: the debug lines of a busy server would fill the disk.
    static let maximumSeconds = 86_400

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/log-level") { _, _ in HTTPResponse(.ok, json: json) },
            HTTPRoute(.post, "/log-level", body: .collected(maximumBytes: 4096)) { request, responder in
                // A body that is not JSON is not a valid request.
                guard let root = (try? JSONDocument(Array(request.body)))?.root else { return Self.refusal }
                let answer = change(root)
                guard let audit, answer.status == .ok else { return answer }
                var entry = AuditLog.Entry("POST /log-level", by: .user(request.peerUser), result: "done")
                entry.business = root["business"]?.string
                Task { @concurrent [entry] in
                    await audit.record(entry)
                    responder.respond(answer)
                }
                return nil
            },
        ]
    }

    /// Answers a POST.
    func change(_ request: JSONValue) -> HTTPResponse {
        if request["reset"]?.bool == true {
            levels.reset()
            logger.notice("log level reset", metadata: ["level": "\(levels.base.rawValue)"])
            return HTTPResponse(.ok, json: json)
        }
        guard let level = request["level"]?.string.flatMap(Logger.Level.init(rawValue:)),
            let seconds = request["seconds"]?.int, (1...Self.maximumSeconds).contains(seconds)
        else { return Self.refusal }
        var business: (id: BusinessID, slug: String)?
        if let name = request["business"] {
            guard let found = registry.all.first(where: { $0.slug == name.string }) else {
                return HTTPResponse(.notFound, text: "no business has this name\n")
            }
            business = (found.business, found.slug)
        }
        levels.change(to: level, of: business, for: .seconds(seconds))
        var facts: Logger.Metadata = ["to": "\(level.rawValue)", "seconds": "\(seconds)"]
        facts["business"] = business.map { "\($0.slug)" }
        logger.notice("log level changed", metadata: facts)
        return HTTPResponse(.ok, json: json)
    }

    private static let refusal = HTTPResponse(
        .badRequest, text: "the body is not a request for /log-level\n")

    private var json: [UInt8] {
        JSONWriter.object { writer in
            writer.field("level", levels.base.rawValue)
            guard let change = levels.current else { return }
            writer.key("change")
            writer.object { writer in
                writer.field("level", change.level.rawValue)
                writer.field("business", change.slug)
                writer.field("seconds", Int(change.remaining().components.seconds))
            }
        }
    }
}
