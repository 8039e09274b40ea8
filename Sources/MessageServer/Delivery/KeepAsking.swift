import BalloonPOSIX
import GatewayClient

/// Asks the gateway again and again while that may help, with pauses that grow, until `end`.
///
/// `call` gets the time that is left. For what is lost when it is given up: the client's own attempts are over within
/// seconds. Throws what the last one threw, and ``GatewayError/cancelled``.
func keepAsking<Value: Sendable>(
    until end: ContinuousClock.Instant, _ call: (Duration) async throws(GatewayError) -> Value
) async throws(GatewayError) -> Value {
    var backoff = Backoff(from: .milliseconds(250), to: .seconds(5))
    var mismatches = 0
    while true {
        do throws(GatewayError) {
            return try await call(end - .now)
        } catch {
            // Damage on the way passes; a length that the sender made up does not.
            if case .lengthMismatch = error { mismatches += 1 }
            let wait = max(backoff.fail(), error.retryAfter ?? .zero)
            guard error.isRetryable, error != .cancelled, mismatches < 2, .now + wait < end else {
                throw error
            }
            do { try await Task.sleep(for: wait) } catch { throw .cancelled }
        }
    }
}
