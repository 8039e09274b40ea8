/// A task executor for tasks that may block: tasks that wait for the disk, and handlers.
///
/// Invariant: at most `maximumThreads` jobs of the executor run at a time, and jobs begin in the order in
/// which they were enqueued. The jobs run on the threads of a ``SharedThreads``, which other executors may
/// use too.
///
/// A ``QueueExecutor``, in contrast, serves an actor, whose jobs are serial, and holds one of Dispatch's
/// threads while a job blocks. Neither executor blocks a thread of Swift's cooperative pool.
package final class BlockingTaskExecutor: TaskExecutor {
    private let threads: SharedThreads
    /// The index of this executor's job queue in `threads`.
    let place: Int

    /// Creates an executor that runs at most this many jobs at a time.
    package init(maximumThreads: Int = 1, on threads: SharedThreads = SharedThreads()) {
        self.threads = threads
        place = threads.addQueue(maximumThreads: max(1, maximumThreads))
    }

    deinit { threads.removeQueue(place) }

    /// Enqueues `job`, which runs after all earlier jobs of this executor have started.
    package func enqueue(_ job: consuming ExecutorJob) {
        threads.enqueue(UnownedJob(job), of: self)
    }
}
