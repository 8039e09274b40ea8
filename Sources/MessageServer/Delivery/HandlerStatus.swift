import HandlerKit

/// The status of one business's handler, for operators.
package struct HandlerStatus: Sendable {
    let slug: String
    /// `none` for a business that only records.
    let health: String
    let restarts: Int?
    let process: Int?
    /// The number of events that the handler and its fallback hold.
    let inFlight: Int
    /// The number of started events that wait for a ready handler or for a slot.
    let waiting: Int
    /// The number of events that overran their deadline.
    let stuck: Int
    let noiseLines: Int?
    /// Whole seconds since the handler went down; nil while it is up.
    let downSeconds: Int?

    /// Asks a handler for its status.
    init(_ business: BusinessHandler) async {
        let report = await business.life?.report
        slug = business.slug
        health = report?.health.rawValue ?? "none"
        restarts = report?.restarts
        process = report?.processID.map { Int($0) }
        inFlight = business.inFlightCount
        waiting = business.waitingCount
        stuck = business.slots.stuckCount
        noiseLines = report?.noiseLines
        downSeconds = business.life?.downSince.map { Int((ContinuousClock.now - $0).components.seconds) }
    }

    /// The members of the handler's object, as operators and the inspector read it.
    static let fields: [JSONField<HandlerStatus>] = [
        JSONField("business", .text) { $0.slug }, JSONField("health", .text) { $0.health },
        JSONField("restarts", optional: .integer) { $0.restarts },
        JSONField("process", optional: .integer) { $0.process },
        JSONField("inFlight", .integer) { $0.inFlight }, JSONField("waiting", .integer) { $0.waiting },
        JSONField("stuck", .integer) { $0.stuck },
        JSONField("noiseLines", optional: .integer) { $0.noiseLines },
        JSONField("downSeconds", optional: .integer) { $0.downSeconds },
    ]
}

/// The reason why an operator's command cannot reach a handler.
enum HandlerRefusal: Error, Equatable {
    /// No business of that name has a handler: it is unknown, or only records.
    case noHandler
    /// The handler runs inside the server, so it has no separate log and cannot be restarted separately.
    case insideServer

    /// The refusal in words.
    var reason: String {
        switch self {
        case .noHandler: "no business of that name has a handler"
        case .insideServer: "the handler runs inside the server"
        }
    }
}

extension HandlerRegistry {
    /// Returns a business's handler if it is outside the server, so that operators can restart it and read
    /// its log.
    func operated(_ slug: String?) throws(HandlerRefusal) -> any EventHandler {
        guard let life = all.first(where: { $0.slug == slug })?.life else { throw .noHandler }
        guard let handler = life.handler as? any EventHandler else { throw .insideServer }
        return handler
    }
}
