import BalloonPOSIX
import Dispatch

/// Runs blocking code on a separate thread, because it must not block the threads that tasks of tests and
/// servers need.
public func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await DispatchQueue(label: "blocking").run(body)
}
