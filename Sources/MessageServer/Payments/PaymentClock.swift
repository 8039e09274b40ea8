import BalloonPOSIX
import Synchronization

/// The clocks that payments use; a test can set them.
struct PaymentClock: Sendable {
    /// The time of day.
    var now: @Sendable () -> Timestamp = { .now() }
    /// A clock that nobody sets.
    var steady: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Waits; throws when the task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Runs `work` with a time limit; nil when the time ends before `work` has decided.
    ///
    /// `work` claims the flag when it has decided, and returns nil when the flag is already claimed. When the
    /// time ends, `work` is cancelled.
    func run<Value: Sendable>(
        within time: Duration, _ work: @escaping @Sendable (OnceFlag) async -> Value?
    ) async -> Value? {
        let isDecided = OnceFlag()
        let timer = Timer()
        return await withCheckedContinuation { continuation in
            let task = Task { @concurrent in
                let value = await work(isDecided)
                // A value means that the work claimed the flag itself.
                guard value != nil || isDecided.claim() else { return }
                timer.end()
                continuation.resume(returning: value)
            }
            timer.begin {
                // A cancelled sleep means that the work has ended.
                guard (try? await sleep(time)) != nil, isDecided.claim() else { return }
                task.cancel()
                continuation.resume(returning: nil)
            }
        }
    }

    /// The task that waits for a time limit; the end of the work cancels the task.
    private final class Timer: Sendable {
        private struct State {
            var task: Task<Void, Never>?
            var hasEnded = false
        }

        private let state = Mutex(State())

        func begin(_ wait: @escaping @Sendable () async -> Void) {
            state.withLock { state in
                if !state.hasEnded { state.task = Task { @concurrent in await wait() } }
            }
        }

        func end() {
            state.withLock { state in
                state.hasEnded = true
                state.task?.cancel()
            }
        }
    }
}
