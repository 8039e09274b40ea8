package import Dispatch

/// Runs an actor's jobs, one after the other on a serial Dispatch queue of its own.
///
/// For actors that wait for the disk or sit on a Dispatch source: none of them may hold a thread of the cooperative
/// pool. Tasks have a ``BlockingTaskExecutor``.
package final class QueueExecutor: SerialExecutor {
    /// The queue; work may also be put on it directly.
    package let queue: DispatchQueue

    /// Makes an executor whose queue bears `label`.
    package init(label: String) { queue = DispatchQueue(label: label) }

    /// Runs `job` on the queue, after what was put on it before.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }

    /// This executor as actors hold it; the actor keeps it alive.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Traps when the caller is not on the queue.
    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
