package import Dispatch

extension DispatchQueue {
    /// Runs blocking work on this queue instead of the cooperative pool, and returns its result.
    package func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { continuation in
            self.async { continuation.resume(returning: Result(catching: work)) }
        }.get()
    }
}
