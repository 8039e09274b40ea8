import Synchronization

/// Whether a load balancer asks the public listener for its readiness, and so learns of a stop.
package final class ReadinessWatch: Sendable {
    /// After this time without a question, nobody asks.
    static let patience = Duration.seconds(60)

    private let asked = Mutex<ContinuousClock.Instant?>(nil)

    /// Records a request to `/readyz`.
    func recordQuestion(at now: ContinuousClock.Instant = .now) { asked.withLock { $0 = now } }

    /// Whether `/readyz` was requested in the last minute.
    func isAsked(at now: ContinuousClock.Instant = .now) -> Bool {
        asked.withLock { $0 }.map { now - $0 < Self.patience } ?? false
    }
}
