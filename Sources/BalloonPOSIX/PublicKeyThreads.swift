import Synchronization

/// Two threads for public-key work, shared by the whole process: keys, signatures, certificates, sealed
/// tokens.
///
/// One operation takes up to 1 ms, or 10 ms for a large RSA key; on a shard it would delay every connection.
///
/// Invariant: at most `maximumThreads` operations run, and at most `maximumJobs` run or wait. A flood of
/// tokens therefore needs bounded memory and occupies at most `maximumThreads` processors.
package final class PublicKeyThreads: Sendable {
    /// The threads of the process.
    package static let shared = PublicKeyThreads()

    private let executor: BlockingTaskExecutor
    private let maximumJobs: Int
    private let jobs = Atomic(0)

    /// Creates separate threads, for tests.
    package init(maximumThreads: Int = 2, maximumJobs: Int = 1024) {
        executor = BlockingTaskExecutor(maximumThreads: maximumThreads)
        self.maximumJobs = maximumJobs
    }

    /// Runs `work` on one of the threads and returns its result; returns nil at once when the queue is full.
    ///
    /// When the queue is full, the caller answers its request with 503. Cancelling the task ends neither a
    /// running nor a waiting operation.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        let (_, count) = jobs.add(1, ordering: .relaxed)
        defer { jobs.subtract(1, ordering: .relaxed) }
        guard count <= maximumJobs else { return nil }
        return await Task(executorPreference: executor) { work() }.value
    }
}
