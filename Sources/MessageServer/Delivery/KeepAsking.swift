import BalloonPOSIX
import GatewayClient

/// Repeats a gateway call while a retry may help, with growing pauses, until `end`.
///
/// `call` receives the remaining time. Use it for downloads that cannot be repeated later, because the
/// retries inside the gateway client end within seconds. Throws the last error of `call`, or
/// ``GatewayError/cancelled`` when the task is cancelled.
func keepAsking<Value: Sendable>(
    until end: ContinuousClock.Instant, _ call: (Duration) async throws(GatewayError) -> Value
) async throws(GatewayError) -> Value {
    var backoff = Backoff(from: .milliseconds(250), to: .seconds(5))
    var mismatches = 0
    while true {
        do throws(GatewayError) {
            return try await call(end - .now)
        } catch {
            // The first mismatch may be damage in transit; the second means that the message states a wrong length.
            if case .lengthMismatch = error { mismatches += 1 }
            let wait = max(backoff.fail(), error.retryAfter ?? .zero)
            guard error.isRetryable, error != .cancelled, mismatches < 2, .now + wait < end else {
                throw error
            }
            do { try await Task.sleep(for: wait) } catch { throw .cancelled }
        }
    }
}
