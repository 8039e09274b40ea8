/// When a reply is tried again that the gateway did not answer, as a pure value.
struct SendSchedule: Sendable {
    /// The wait after the first failed attempt; it doubles with each further one.
    var initialDelay = Duration.seconds(1)
    /// The longest wait of our own choice.
    var maximumDelay = Duration.seconds(600)
    /// The longest wait that `Retry-After` is granted.
    var maximumRetryAfter = Duration.seconds(3600)

    /// The wait after so many failed attempts (from 1).
    ///
    /// Half of it is certain and half left to chance: `random` is between 0 and 1. `atLeast` is what the gateway asked
    /// for; it lengthens the wait and never shortens it.
    func delay(afterAttempts attempts: Int, atLeast: Duration?, random: Double) -> Duration {
        let doubled = initialDelay * (1 << min(max(0, attempts - 1), 20))
        let chosen = min(doubled, maximumDelay) * (0.5 + 0.5 * random)
        guard let atLeast else { return chosen }
        return max(chosen, min(atLeast, maximumRetryAfter))
    }
}
