import BalloonPOSIX

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
        return await withCheckedContinuation { continuation in
            let task = Task { @concurrent in await work(isDecided) }
            let timer = Task { @concurrent in
                // A cancelled sleep means that the work has ended.
                guard (try? await sleep(time)) != nil, isDecided.claim() else { return }
                task.cancel()
                continuation.resume(returning: nil)
            }
            Task { @concurrent in
                let value = await task.value
                // A value means that the work claimed the flag itself.
                guard value != nil || isDecided.claim() else { return }
                timer.cancel()
                continuation.resume(returning: value)
            }
        }
    }
}
