/// Runs the jobs of tasks that prefer it, on one thread as long as that keeps up, and on more when it does not.
///
/// For tasks that wait for the disk, and for handlers that may block: neither may hold a thread of the cooperative pool.
/// Executors that share their threads wake nobody to hand a job from one to the other. With a bound of one, jobs run one
/// after the other in the order in which they came.
package final class BlockingTaskExecutor: TaskExecutor {
    private let threads: SharedThreads
    /// Where its jobs wait.
    let place: Int

    /// Makes an executor of which at most so many jobs run at a time.
    package init(maximumThreads: Int = 1, on threads: SharedThreads = SharedThreads()) {
        self.threads = threads
        place = threads.addQueue(maximumThreads: max(1, maximumThreads))
    }

    deinit { threads.removeQueue(place) }

    /// Runs `job` after those that were enqueued here before it have begun.
    package func enqueue(_ job: consuming ExecutorJob) {
        threads.enqueue(UnownedJob(job), of: self)
    }
}
