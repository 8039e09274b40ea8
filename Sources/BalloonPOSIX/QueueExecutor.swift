package import Dispatch

/// An actor's executor: a serial Dispatch queue that runs its jobs one after the other.
///
/// Invariant: the actor's state is touched on this queue only, so that a Dispatch source, a timer or ``DescriptorLoop`` that
/// calls back on `queue` may enter the actor with `assumeIsolated`, without a hop.
///
/// Shards, conversation partitions and child processes need it, because such callbacks drive them. Tasks
/// without an actor have a ``BlockingTaskExecutor``.
package final class QueueExecutor: SerialExecutor {
    /// The queue; callers may also enqueue work on it directly.
    package let queue: DispatchQueue

    /// Creates an executor whose queue has this label.
    package init(label: String) { queue = DispatchQueue(label: label) }

    /// Runs `job` on the queue, after earlier work.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }

    /// This executor in the form that actors use; the actor keeps it alive.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Traps when the caller is not on the queue.
    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
