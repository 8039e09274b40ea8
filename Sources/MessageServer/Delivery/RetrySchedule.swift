/// When a delivery that could not be ended is tried again: pure, so that a test needs no clock.
struct RetrySchedule: Sendable {
    /// The pause after each failed attempt, in order; as many attempts as pauses, and one more.
    var delays: [Duration] = [
        .seconds(1), .seconds(5), .seconds(30), .seconds(120), .seconds(600), .seconds(3600),
    ]
    /// After so many attempts a delivery holds up its conversation no longer.
    var maximumHoldingAttempts = 3
    /// Nor during a pause that is longer.
    var maximumHoldingDelay = Duration.seconds(60)
    /// How far a pause may be off either way, so that what failed together does not come back together.
    var jitter = 0.2
    /// The shortest and the longest pause that a handler may ask for.
    var askedDelays = Duration.seconds(1)...Duration.seconds(300)

    /// Whether the others of the conversation go on without the delivery during the pause after `attempt`.
    func parks(after attempt: Int, for delay: Duration) -> Bool {
        attempt > maximumHoldingAttempts || delay > maximumHoldingDelay
    }

    /// The pause before the next attempt, or nil when `attempt` (from 1) was the last.
    ///
    /// `asked` is what the handler or its service wants, and `atLeast` what the gateway wants. Both lengthen a pause and
    /// never shorten one: a handler that asks for no pause at all would use up its attempts within milliseconds.
    /// A handler gets at most five minutes, the gateway at most the longest pause of the schedule. `random` is between 0
    /// and 1.
    func delay(
        after attempt: Int, asked: Duration? = nil, atLeast: Duration? = nil, random: Double
    ) -> Duration? {
        guard attempt <= delays.count else { return nil }
        let regular = delays[max(0, attempt - 1)]
        let scheduled = regular * (1 + jitter * (2 * random - 1))
        if let asked {
            let wanted = min(max(asked, askedDelays.lowerBound), askedDelays.upperBound)
            return max(wanted, regular, scheduled)
        }
        guard let atLeast else { return scheduled }
        return max(scheduled, min(atLeast, delays.max() ?? askedDelays.upperBound))
    }
}
