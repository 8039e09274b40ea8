package import BalloonPOSIX

/// The number of attempts of a request, and the wait before each retry.
package struct RetryPolicy: Sendable, Equatable {
    /// The maximum number of attempts of one request.
    package var maximumAttempts = 4
    /// The waits when the gateway asks for none; a random factor from 0.5 to 1 shortens each.
    package var backoff = Backoff(from: .milliseconds(250), to: .seconds(8), jitter: 0.5...1)
    /// The longest wait that `Retry-After` may ask for; after a longer one the request is not retried.
    package var maximumRetryAfter = Duration.seconds(30)

    /// Uses the default values.
    package init() {}

    /// Returns the wait after the failure of attempt number `attempt` (from 1); nil when no attempt follows.
    ///
    /// `random` is from 0 to 1. `retryAfter` is the minimum wait that the gateway asked for.
    func delay(afterAttempt attempt: Int, retryAfter: Duration?, random: Double) -> Duration? {
        guard attempt < maximumAttempts, retryAfter ?? .zero <= maximumRetryAfter else { return nil }
        return backoff.delay(
            after: attempt, atLeast: retryAfter, limit: maximumRetryAfter, random: random)
    }
}
