import Synchronization

/// Records requests to `/readyz` of the public listener, which show that a load balancer will notice a stop.
package final class ReadinessWatch: Sendable {
    /// The time without a request after which no load balancer is assumed.
    static let patience = Duration.seconds(60)

    private let asked = Mutex<ContinuousClock.Instant?>(nil)

    /// Records a request to `/readyz`.
    func recordQuestion(at now: ContinuousClock.Instant = .now) { asked.withLock { $0 = now } }

    /// Whether `/readyz` was requested in the last minute.
    func isAsked(at now: ContinuousClock.Instant = .now) -> Bool {
        asked.withLock { $0 }.map { now - $0 < Self.patience } ?? false
    }
}
