import BalloonPOSIX
import Synchronization

/// The bounded number of handler calls that one business may have in flight, each with a deadline.
///
/// Invariant: a caller gets an answer at the deadline at the latest, and a slot is released only when the
/// handler has returned. A call that overruns its deadline therefore keeps its slot, counted in
/// ``stuckCount``, and a handler that never returns stops only its business.
///
/// It consists of an ``AsyncSemaphore`` for the slots, ``CallDeadlines`` for the deadlines, and a
/// `BlockingTaskExecutor` on the business's threads. The executor has additional threads for the child tasks
/// of handlers.
final class HandlerSlots: Sendable {
    /// The slots are closed, because another handler replaces the handler that they limit.
    struct Closed: Error {}

    let maximumCount: Int
    private let permits: AsyncSemaphore
    /// The executor of all calls, created at the first call on its `threads`.
    private let executor = Mutex<BlockingTaskExecutor?>(nil)
    private let stuck = Atomic(0)
    private let deadlines = CallDeadlines()

    /// The number of threads for child tasks that block, in addition to one thread for each call.
    private static let maximumChildThreads = 64

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
        permits = AsyncSemaphore(maximumCount)
    }

    /// Limits the number of slots to `count`, never above the initial number.
    func limit(to count: Int) { permits.resize(to: min(count, maximumCount)) }

    /// Refuses waiting calls and every further call; calls in flight continue.
    func close() { permits.close() }

    /// How many slots are held, including stuck ones.
    var heldCount: Int { permits.heldCount }

    /// How many slots are held by a handler that has overrun its deadline.
    var stuckCount: Int { stuck.load(ordering: .relaxed) }

    /// Runs `call` in a slot, waiting for a slot if necessary, and returns its result; nil when the call
    /// exceeds `time`.
    ///
    /// All calls must use the same `threads`.
    ///
    /// Throws `CancellationError` when the task is cancelled before it gets a slot, and ``Closed`` when the
    /// slots are closed.
    func run<Value: Sendable>(
        within time: Duration, on threads: SharedThreads = SharedThreads(),
        _ call: @escaping @Sendable () async -> Value
    ) async throws -> Value? {
        guard await permits.acquire() else {
            if Task.isCancelled { throw CancellationError() }
            throw Closed()
        }
        let isDecided = OnceFlag()
        let executor = executor(on: threads)
        return await withCheckedContinuation { continuation in
            let ticket = deadlines.nextTicket()
            let task = Task(executorPreference: executor) {
                let value = await call()
                let isInTime = isDecided.claim()
                if isInTime {
                    self.deadlines.remove(ticket)
                } else {
                    self.stuck.subtract(1, ordering: .relaxed)
                }
                // Released before the caller resumes, so that a caller that has the value finds its slot free.
                self.permits.release()
                if isInTime { continuation.resume(returning: value) }
            }
            deadlines.add(ticket, after: time) {
                guard isDecided.claim() else { return }
                self.stuck.add(1, ordering: .relaxed)
                task.cancel()
                continuation.resume(returning: nil)
            }
        }
    }

    private func executor(on threads: SharedThreads) -> BlockingTaskExecutor {
        executor.withLock { executor in
            if let executor { return executor }
            let new = BlockingTaskExecutor(
                maximumThreads: maximumCount + Self.maximumChildThreads, on: threads)
            executor = new
            return new
        }
    }
}
