/// A task executor for tasks that may block: tasks that wait for the disk, and handlers.
///
/// Invariant: at most so many of its jobs run at a time, and they begin in the order in which they came; with a bound of one
/// they run one after the other. Its threads are a ``SharedThreads``, its own or one that it shares with other executors.
///
/// It differs from ``QueueExecutor``: that one serves an actor, whose jobs are serial, and holds one of Dispatch's
/// threads while it blocks. Neither kind blocks a thread of Swift's cooperative pool.
package final class BlockingTaskExecutor: TaskExecutor {
    private let threads: SharedThreads
    /// The index of its job queue.
    let place: Int

    /// Creates an executor that runs at most this many jobs at a time.
    package init(maximumThreads: Int = 1, on threads: SharedThreads = SharedThreads()) {
        self.threads = threads
        place = threads.addQueue(maximumThreads: max(1, maximumThreads))
    }

    deinit { threads.removeQueue(place) }

    /// Runs `job` after earlier jobs of this executor have started.
    package func enqueue(_ job: consuming ExecutorJob) {
        threads.enqueue(UnownedJob(job), of: self)
    }
}
