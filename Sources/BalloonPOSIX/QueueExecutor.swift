package import Dispatch

/// An actor's executor: a serial Dispatch queue that runs its jobs one after the other.
///
/// Invariant: the actor's state is touched on this queue only, so that a Dispatch source, a timer or ``DescriptorLoop`` that
/// calls back on ``queue`` may enter the actor with `assumeIsolated`, without a hop.
///
/// A kind of its own for that reason: shards, conversation partitions and child processes are driven by such callbacks. Tasks
/// without an actor have a ``BlockingTaskExecutor``.
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
