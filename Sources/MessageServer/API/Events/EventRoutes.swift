import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import MessageStore

/// `GET /v1/events`: the events of the token's businesses, as a stream or as a page.
enum EventRoutes {
    /// The maximum number of events of a page.
    static let maximumPage = 200
    /// The maximum bytes of a page's events, after which no further part is read.
    static let maximumPageBytes = 1 << 20

    /// The names of all events that a caller can choose.
    static let types =
        StoreEvent.Name.allCases.map(\.rawValue) + TransientEvent.Name.allCases.map(\.rawValue)

    private static let headers = [
        APIParameter(
            "Last-Event-ID", .text(maximumBytes: 64),
            "The id of the last event that the caller has; it replaces the parameter after."),
        APIParameter(
            "Prefer", .field,
            "With Accept: application/json, wait=N waits up to N seconds, at most 50, for an event."),
    ]

    static func make(_ hub: EventHub) -> [APIRoute] {
        let business = APIParameter(
            "business", .identifier(maximumBytes: 64), "Only events of this business.", isRepeatable: true)
        let type = APIParameter("type", .choice(types), "Only events of this type.", isRepeatable: true)
        let after = APIParameter(
            "after", .text(maximumBytes: 64), "The id of the last event that the caller has.")
        return [
            APIRoute(
                method: .get, path: "/v1/events", right: .read, query: [business, type, after],
                headers: headers, summary: "Follow what happens", answer: .events(page: .eventPage),
                handler: .direct { request, responder in
                    Task {
                        do {
                            let filter = try filter(of: request)
                            let cursor =
                                (request.field("last-event-id") ?? request["after"])
                                .map { EventCursor(after: $0, in: request.numbers) } ?? .latest
                            let format = try EventFormat(accept: request.field("accept"))
                            let wait = Preference.waitSeconds(request.field("prefer"))
                            // The first follower makes the hub read the store's events.
                            await hub.begin()
                            switch format {
                            case .stream: try EventStream(hub, filter, cursor).start(responder)
                            case .page:
                                let page = EventPage(hub: hub, filter: filter, wait: .seconds(wait))
                                responder.respond(try await page.answer(cursor))
                            }
                        } catch {
                            responder.respond(
                                error as? APIProblem
                                    ?? APIProblem(.unavailable, "the journal cannot be read"))
                        }
                    }
                    return nil
                })
        ]
    }

    private static func filter(of request: APIRequest) throws(APIProblem) -> EventFilter {
        let wanted = request.values(of: "business")
        let own = Set(request.access.businesses(of: request.token).map(\.slug))
        for slug in wanted where !own.contains(slug) {
            throw APIProblem(.notFound, "no business of this token has this slug")
        }
        let types = request.values(of: "type")
        return EventFilter(
            token: request.token, businesses: wanted.isEmpty ? nil : Set(wanted),
            types: types.isEmpty ? nil : Set(types))
    }
}

/// The form in which events are sent.
enum EventFormat {
    case stream
    case page

    /// Chooses the first known type in `Accept` (RFC 9110 §12.5.1).
    ///
    /// Weights are ignored, except that a type with `q=0` is skipped. Throws `not-acceptable` when the caller
    /// accepts neither a stream nor a page.
    init(accept: String?) throws(APIProblem) {
        guard let accept else {
            self = .stream
            return
        }
        for item in accept.split(separator: ",") {
            let parts = item.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            if parts.dropFirst().contains(where: Self.isZeroWeight) { continue }
            switch parts.first {
            case "text/event-stream", "text/*", "*/*":
                self = .stream
                return
            case "application/json", "application/*":
                self = .page
                return
            default: continue
            }
        }
        throw APIProblem(.notAcceptable, "accept text/event-stream or application/json")
    }

    /// Whether a parameter is a weight of zero: `q=0`, or with up to three decimal zeros.
    private static func isZeroWeight(_ parameter: String) -> Bool {
        ["q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"].contains(parameter)
    }
}

/// The preferences of a request (RFC 7240).
enum Preference {
    /// The longest time that an operation waits.
    private static let maximumWaitSeconds = 50

    /// The seconds of the preference `wait`, at most 50; 0 when it is missing or invalid.
    static func waitSeconds(_ prefer: String?) -> Int {
        for item in (prefer ?? "").split(separator: ",") {
            let parts = item.split(separator: "=").map { $0.filter { $0 != " " } }
            guard parts.count == 2, parts[0].lowercased() == "wait", let seconds = Int(parts[1]), seconds >= 0
            else { continue }
            return min(seconds, maximumWaitSeconds)
        }
        return 0
    }
}
