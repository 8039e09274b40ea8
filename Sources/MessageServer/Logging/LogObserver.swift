package import Logging

/// Writes stage events to the log; at `info` every accepted message and every ended delivery has a line.
package struct LogObserver: StageObserver {
    private let logger: Logger

    /// Creates an observer that writes to `logger`.
    package init(_ logger: Logger) { self.logger = logger }

    /// Writes `event` at the level of its stage and result.
    package func observe(_ event: StageEvent) {
        let level = Self.level(of: event)
        guard logger.logLevel <= level else { return }
        logger.log(
            level: level, Logger.Message(stringLiteral: Self.text(for: event)),
            metadata: Self.metadata(of: event))
    }

    /// Returns the level of an event.
    ///
    /// It is debug for routine steps, info for events that operators count, warning for events that need
    /// attention, and error for loss.
    static func level(of event: StageEvent) -> Logger.Level {
        switch event.result {
        case .done:
            switch event.stage {
            case .journal, .reply, .finish: .info
            case .read, .authenticate, .inflate, .envelope, .resolve, .decode, .fetch, .record, .route,
                .handle:
                .debug
            }
        case .duplicate, .ended: .info
        case .refused: event.stage == .reply ? .error : .notice
        case .postponed: .warning
        // The store or the stop of the server logs the cause once for all released deliveries.
        case .released: .debug
        case .failed: event.stage == .finish ? .error : .warning
        }
    }

    static func text(for event: StageEvent) -> String {
        switch (event.stage, event.result) {
        case (.journal, .done): "message accepted"
        case (.journal, .duplicate): "message repeated"
        case (.reply, .done): "reply accepted by the gateway"
        case (.reply, .refused): "reply refused by the gateway"
        case (.finish, .done): "delivery handled"
        case (.finish, .failed): "delivery failed"
        case (.finish, _): "delivery ended"
        case (_, .refused): "request refused"
        case (_, .postponed): "delivery postponed"
        case (_, .released): "delivery released"
        case (_, .failed): "stage failed"
        case (_, .done), (_, .duplicate), (_, .ended): "stage done"
        }
    }

    static func metadata(of event: StageEvent) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["us": "\(event.nanoseconds / 1000)"]
        metadata["trace_id"] = event.trace.map { "\($0.text)" }
        event.forEachFact { metadata[$0] = $1.map { "\($0)" } }
        return metadata
    }
}
