import BalloonPOSIX

/// Decides when a service that refuses every event gets the next event as a probe: after 1 to 60 seconds.
///
/// It reads no clock: each caller passes the time.
struct ProbeSchedule: Sendable {
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    /// The time of the next probe; nil while the service accepts events.
    private var nextProbe: ContinuousClock.Instant?

    /// Whether the service refuses every event.
    var isRefused: Bool { nextProbe != nil }

    /// Counts a refusal.
    mutating func fail(at now: ContinuousClock.Instant) { nextProbe = now + backoff.fail(random: 0.5) }

    /// Returns nil when the next event may be sent now, otherwise the delay after which the caller asks
    /// again.
    ///
    /// An event that may be sent is the probe. When the probe gets no answer, the next probe may be sent
    /// after a further delay.
    mutating func delay(at now: ContinuousClock.Instant) -> Duration? {
        guard let nextProbe else { return nil }
        guard nextProbe <= now else { return nextProbe - now }
        self.nextProbe = now + backoff.delay(after: backoff.failures, random: 0.5)
        return nil
    }
}
