import Synchronization

/// Runs asynchronous operations in sequence, in the order of the calls.
final class TaskChain: Sendable {
    private let latest = Mutex<Task<Void, Never>?>(nil)

    /// Runs `body` after all earlier operations; cancelling the caller does not cancel `body`.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = latest.withLock { latest in
            let earlier = latest
            let task = Task {
                await earlier?.value
                return try await body()
            }
            // The caller handles the error.
            latest = Task { _ = try? await task.value }
            return task
        }
        return try await task.value
    }
}
