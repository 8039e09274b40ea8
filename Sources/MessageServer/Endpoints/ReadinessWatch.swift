import Synchronization

/// Records requests to `/readyz` and `/livez` of any listener, which show that a prober may notice a stop.
package final class ReadinessWatch: Sendable {
    /// The time without a request after which no prober is assumed.
    static let patience = Duration.seconds(60)

    private let asked = Mutex<ContinuousClock.Instant?>(nil)

    /// Records a probe.
    func recordQuestion(at now: ContinuousClock.Instant = .now) { asked.withLock { $0 = now } }

    /// Whether a probe came in the last minute.
    func isAsked(at now: ContinuousClock.Instant = .now) -> Bool {
        asked.withLock { $0 }.map { now - $0 < Self.patience } ?? false
    }
}
