import BalloonPOSIX

/// The schedule of a delivery's retries: computes pauses, and never reads a clock.
struct RetrySchedule: Sendable {
    /// The pause after each failed attempt, in order; there is one attempt more than pauses.
    var backoff = Backoff(
        [.seconds(1), .seconds(5), .seconds(30), .seconds(120), .seconds(600), .seconds(3600)],
        jitter: 0.8...1.2)
    /// The number of failed attempts after which a delivery no longer blocks its conversation.
    var maximumHoldingAttempts = 3
    /// The longest pause that blocks the conversation; during a longer pause, its later deliveries are
    /// leased.
    var maximumHoldingDelay = Duration.seconds(60)
    /// The shortest and the longest pause that a handler may ask for.
    var askedDelays = Duration.seconds(1)...Duration.seconds(300)

    /// Whether the conversation continues without the delivery during the pause after `attempt`.
    func parks(after attempt: Int, for delay: Duration) -> Bool {
        attempt > maximumHoldingAttempts || delay > maximumHoldingDelay
    }

    /// The pause before the next attempt; nil when `attempt` (from 1) was the last.
    ///
    /// `asked` is the pause that the handler or its service asked for. It lengthens a pause and never shortens one: a
    /// handler that asks for no pause at all would use up its attempts within milliseconds. `random` is between 0 and
    /// 1.
    func delay(after attempt: Int, asked: Duration? = nil, random: Double = .random(in: 0...1)) -> Duration? {
        guard attempt <= backoff.delays.count else { return nil }
        let scheduled = backoff.delay(after: attempt, random: random)
        guard let asked else { return scheduled }
        let wanted = min(max(asked, askedDelays.lowerBound), askedDelays.upperBound)
        return max(wanted, backoff.delays[max(1, attempt) - 1], scheduled)
    }
}
