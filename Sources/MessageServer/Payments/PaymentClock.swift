import BalloonPOSIX
import Synchronization

/// The clocks that payments use; a test can set them.
struct PaymentClock: Sendable {
    /// The time of day.
    var now: @Sendable () -> Timestamp = { .now() }
    /// Waits; throws when the task is cancelled.
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Runs `work`, which claims the flag when it has decided; nil when the time was over first.
    ///
    /// Work that finds the flag claimed returns nil. It is cancelled when its time is over.
    func run<Value: Sendable>(
        within time: Duration, _ work: @escaping @Sendable (OnceFlag) async -> Value?
    ) async -> Value? {
        let isDecided = OnceFlag()
        let timer = Timer()
        return await withCheckedContinuation { continuation in
            let task = Task { @concurrent in
                let value = await work(isDecided)
                // Work that did not claim the flag itself has no value.
                guard value != nil || isDecided.claim() else { return }
                timer.end()
                continuation.resume(returning: value)
            }
            timer.begin {
                // A cancelled wait means that the work has ended.
                guard (try? await sleep(time)) != nil, isDecided.claim() else { return }
                task.cancel()
                continuation.resume(returning: nil)
            }
        }
    }

    /// The task of a time limit, which its work ends.
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
