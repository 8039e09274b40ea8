import BalloonPOSIX

/// When a service that refuses every event is tried again: one event at a time, after 1 to 60 seconds.
///
/// A value without a clock.
struct ProbeSchedule: Sendable {
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    /// Nil while the service accepts events.
    private var nextProbe: ContinuousClock.Instant?

    /// Whether the service refuses every event.
    var isRefused: Bool { nextProbe != nil }

    /// Counts a refusal.
    mutating func fail(at now: ContinuousClock.Instant) { nextProbe = now + backoff.fail(random: 0.5) }

    /// Decides about the next event: it may be sent now, or after this delay.
    ///
    /// The event that may be sent is the probe. When it gets no answer, the next one follows a delay later.
    mutating func delay(at now: ContinuousClock.Instant) -> Duration? {
        guard let nextProbe else { return nil }
        guard nextProbe <= now else { return nextProbe - now }
        self.nextProbe = now + backoff.delay(after: backoff.failures, random: 0.5)
        return nil
    }
}
