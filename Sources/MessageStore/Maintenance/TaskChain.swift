import Synchronization

/// Runs pieces of asynchronous work one after the other, in the order in which they come.
final class TaskChain: Sendable {
    private let latest = Mutex<Task<Void, Never>?>(nil)

    /// Runs `body` when all that came before has ended; it runs to its end though the caller is cancelled.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = latest.withLock { latest in
            let earlier = latest
            let task = Task {
                await earlier?.value
                return try await body()
            }
            // What it throws is the caller's.
            latest = Task { _ = try? await task.value }
            return task
        }
        return try await task.value
    }
}
