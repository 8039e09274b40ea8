import Dispatch

/// Runs blocking code on a separate thread, because it must not block the threads that tasks of tests and
/// servers need.
public func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "blocking").async { continuation.resume(with: Swift.Result { try body() }) }
    }
}
