import Synchronization

/// Runs asynchronous operations in sequence, in the order of the calls.
final class TaskChain: Sendable {
    private struct State {
        var isClosed = false
        var latest: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// Runs `body` after all earlier operations; cancelling the caller does not cancel `body`.
    ///
    /// Throws ``StoreError/closed`` after ``close()``, and the errors of `body`.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = state.withLock { state -> Task<Result, any Error>? in
            if state.isClosed { return nil }
            let earlier = state.latest
            let task = Task {
                await earlier?.value
                return try await body()
            }
            // The caller handles the error.
            state.latest = Task { _ = try? await task.value }
            return task
        }
        guard let task else { throw StoreError.closed }
        return try await task.value
    }

    /// Refuses later operations; returns when the earlier ones have ended.
    func close() async {
        let latest = state.withLock { state in
            state.isClosed = true
            return state.latest
        }
        await latest?.value
    }
}
