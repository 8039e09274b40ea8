/// How often a request is sent again, and how long is waited before each time.
package struct RetryPolicy: Sendable, Equatable {
    /// How often one request is sent at most.
    package var maximumAttempts = 4
    /// The longest wait before the second attempt; it doubles with each further one.
    package var initialDelay = Duration.milliseconds(250)
    /// The longest wait of our own choice.
    package var maximumDelay = Duration.seconds(8)
    /// The longest wait that `Retry-After` may ask for; one that asks for more ends the attempts.
    package var maximumRetryAfter = Duration.seconds(30)

    /// The defaults.
    package init() {}

    /// The wait after attempt number `attempt` (from 1) has failed; nil when that was the last one.
    ///
    /// `jitter` is a random number from 0 to 1: half of the wait is certain, the other half left to chance, so that
    /// those who failed together do not come back together. `retryAfter` is the gateway's own wish and stands before ours.
    func delay(afterAttempt attempt: Int, retryAfter: Duration?, jitter: Double) -> Duration? {
        guard attempt < maximumAttempts else { return nil }
        let doubled = initialDelay * (1 << min(attempt - 1, 20))
        let chosen = min(doubled, maximumDelay) * (0.5 + 0.5 * jitter)
        guard let retryAfter else { return chosen }
        return retryAfter <= maximumRetryAfter ? max(retryAfter, chosen) : nil
    }
}

extension Duration {
    /// Reads `Retry-After`, a number of seconds or a date, at `now` in seconds since 1970 (RFC 9110 §10.2.3); a date that
    /// has passed is no wait.
    init?(retryAfter field: String?, now: Int) {
        guard let field else { return nil }
        if (1...9).contains(field.utf8.count), let seconds = UInt32(field) {
            self = .seconds(seconds)
        } else if let date = secondsSince1970(field) {
            self = .seconds(max(0, date - now))
        } else {
            return nil
        }
    }
}
