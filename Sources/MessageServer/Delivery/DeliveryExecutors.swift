import BalloonPOSIX
import Synchronization

/// The threads that deliveries run on, as many as there are processors and at least two.
///
/// They read and write conversations and wait for the disk, so none of them belongs to the cooperative pool. A delivery
/// stays with one of them: what is waiting there is worked off without a thread having to be woken for each step.
final class DeliveryExecutors: Sendable {
    private let executors: [QueueTaskExecutor]
    private let last = Atomic<Int>(0)

    init(count: Int = ProcessorCount.available()) {
        executors = (0..<max(2, count)).map { QueueTaskExecutor(label: "balloon.deliveries.\($0)") }
    }

    /// One after the other.
    func next() -> QueueTaskExecutor {
        executors[last.add(1, ordering: .relaxed).newValue % executors.count]
    }
}
