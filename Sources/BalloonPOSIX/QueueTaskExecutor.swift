import Dispatch
import Synchronization

/// Runs the jobs of tasks that prefer it, one after the other on a serial Dispatch queue of its own.
///
/// For tasks that wait for the disk, and for handlers that may block: neither may hold a thread of the cooperative pool.
/// A job that is enqueued while others run or wait costs no block and wakes no thread.
package final class QueueTaskExecutor: TaskExecutor {
    private struct Waiting {
        var jobs: [UnownedJob] = []
        /// Whether the queue has been asked to run what is here.
        var isScheduled = false
    }

    private let queue: DispatchQueue
    private let waiting = Mutex(Waiting())

    /// Makes an executor whose queue bears `label`.
    package init(label: String) { queue = DispatchQueue(label: label) }

    /// Runs `job` on the queue, after what was enqueued before it.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let schedules = waiting.withLock { waiting in
            waiting.jobs.append(job)
            defer { waiting.isScheduled = true }
            return !waiting.isScheduled
        }
        if schedules { queue.async { self.run() } }
    }

    private func run() {
        // Two lists in turn, so that neither is allocated again.
        var jobs: [UnownedJob] = []
        while true {
            jobs.removeAll(keepingCapacity: true)
            waiting.withLock { waiting in
                swap(&waiting.jobs, &jobs)
                if jobs.isEmpty { waiting.isScheduled = false }
            }
            if jobs.isEmpty { return }
            // As the task's executor and no actor's: otherwise every call of an async function is enqueued anew.
            for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
