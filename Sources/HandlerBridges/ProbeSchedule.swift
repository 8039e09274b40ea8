import BalloonPOSIX

/// The schedule of probes for a service that refuses every event: one event is sent after 1 to 60 seconds.
///
/// The schedule reads no clock: each caller passes the current time.
struct ProbeSchedule: Sendable {
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    /// The time of the next probe; nil while the service accepts events.
    private var nextProbe: ContinuousClock.Instant?

    /// Whether the service has refused an event and not accepted another since.
    var isRefused: Bool { nextProbe != nil }

    /// Records a refusal, which delays the next probe.
    mutating func fail(at now: ContinuousClock.Instant) { nextProbe = now + backoff.fail(random: 0.5) }

    /// Returns nil when the caller may send its event now, otherwise the delay after which it must ask again.
    ///
    /// While the service refuses events, the event that may be sent is the probe. Other events then wait for
    /// another delay, because the probe may get no answer.
    mutating func delay(at now: ContinuousClock.Instant) -> Duration? {
        guard let nextProbe else { return nil }
        guard nextProbe <= now else { return nextProbe - now }
        self.nextProbe = now + backoff.delay(after: backoff.failures, random: 0.5)
        return nil
    }
}
