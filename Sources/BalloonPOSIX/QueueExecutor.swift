package import Dispatch

/// The executor of an actor: a serial Dispatch queue that runs the actor's jobs one after the other.
///
/// Invariant: only code on this queue accesses the actor's state. A Dispatch source, a timer or a
/// ``DescriptorLoop`` that calls back on `queue` may therefore enter the actor with `assumeIsolated`, without
/// another enqueued job.
///
/// Shards, conversation partitions and child processes use this executor, because such callbacks drive them.
/// Tasks outside an actor use a ``BlockingTaskExecutor``.
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

    /// Returns this executor in the form that actors need; the actor must keep the executor alive.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Traps when the caller is not on the queue.
    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
