import Synchronization

/// Two threads for public-key work, shared by the whole process: keys, signatures, certificates, sealed tokens.
///
/// One operation takes up to a millisecond, or ten for a large RSA key: on a shard it would delay every connection.
/// Invariant: at most `maximumThreads` operations run and at most `maximumJobs` run or wait, so that a flood of
/// tokens costs bounded memory and at most this many processors.
package final class PublicKeyThreads: Sendable {
    /// The threads of the process.
    package static let shared = PublicKeyThreads()

    private let executor: BlockingTaskExecutor
    private let maximumJobs: Int
    private let jobs = Atomic(0)

    /// Creates threads of their own, for tests.
    package init(maximumThreads: Int = 2, maximumJobs: Int = 1024) {
        executor = BlockingTaskExecutor(maximumThreads: maximumThreads)
        self.maximumJobs = maximumJobs
    }

    /// Runs `work` on one of the threads and returns its result; nil at once when the queue is full.
    ///
    /// The answer to a full queue is 503. Cancellation does not end an operation that has begun or waits.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        let (_, count) = jobs.add(1, ordering: .relaxed)
        defer { jobs.subtract(1, ordering: .relaxed) }
        guard count <= maximumJobs else { return nil }
        return await Task(executorPreference: executor) { work() }.value
    }
}
