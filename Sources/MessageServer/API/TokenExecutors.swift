import BalloonPOSIX
import Synchronization

/// Runs the operations of each token on threads of their own, so that no token waits for the threads of another.
///
/// ``InFlightOperations`` bounds the operations of a token, and this type the threads that run them.
final class TokenExecutors: Sendable {
    /// The executor of a token; its tasks keep it alive.
    private struct Entry {
        weak var executor: BlockingTaskExecutor?
    }

    /// The number of threads that a token may block.
    static let maximumThreads = 4

    private let threads = SharedThreads()
    private let entries = Mutex<[String: Entry]>([:])

    /// Returns the executor of the token with this name.
    subscript(token: String) -> BlockingTaskExecutor {
        entries.withLock { entries in
            if let executor = entries[token]?.executor { return executor }
            // Keep only the tokens with tasks: a reload may have removed the others.
            entries = entries.filter { $0.value.executor != nil }
            let executor = BlockingTaskExecutor(maximumThreads: Self.maximumThreads, on: threads)
            entries[token] = Entry(executor: executor)
            return executor
        }
    }
}
