import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// Schedules each durable message in its conversation: recorded in order, then leased for delivery in order.
///
/// ```
///   durable ──> partition's queues ──record──> business's list ──lease──> handler
///               (its own executor)             (waiting tasks)
/// ```
///
/// The locks are held for microseconds, and never while a thread waits for a disk, a handler or the network.
///
/// This file has the state and the functions that all steps use. The steps are in extensions: `+References`
/// resolves payload references, `+Recording` records, `+Leases` leases and ends deliveries, and `+Holds`
/// pauses all leases.
final class DeliveryScheduler: Sendable {
    /// The messages of one partition of the conversations; its lock is never held together with another partition's.
    final class Partition: Sendable {
        struct State {
            var queues = ConversationQueues()
            /// The conversations whose first unrecorded message can be recorded.
            var recordable = Deque<ConversationKey>()
            /// Whether a task records the partition's messages.
            var isRecording = false

            /// Changes the queues; returns the conversation if a delivery of it became leasable.
            mutating func change<Result>(
                _ key: ConversationKey,
                _ body: (inout ConversationQueues) -> (Result, ConversationQueues.Progress)
            ) -> (Result, ReadyConversations.Addition?) {
                let (result, progress) = body(&queues)
                if progress.contains(.recordable) { recordable.append(key) }
                guard progress.contains(.deliverable) else { return (result, nil) }
                return (result, .init(conversation: key, isSuspect: queues.isSuspectNext(of: key)))
            }
        }

        let state = Mutex(State())
        let executor: BlockingTaskExecutor

        init(_ executor: BlockingTaskExecutor) { self.executor = executor }
    }

    let partitions: [Partition]
    /// A lock that is acquired only without a partition's lock, never inside one.
    let ready = Mutex(ReadyConversations())
    let references = Mutex(ReferenceQueue(slots: 16, share: 4))
    /// The number of unfinished deliveries of each business, its limit, and the number of parked ones.
    let quotas = PendingQuotas()
    let recording = Mutex(Recording())
    let pending = Atomic<Int>(0)
    let unreadable = Atomic<Int>(0)
    let lastWaiter = Atomic<UInt64>(0)
    let timers = DispatchQueue(label: "balloon.deliveries")
    /// The growing pauses after a lease was released without an attempt, and after a message could not be
    /// recorded.
    let releaseBackoff: Backoff
    /// How long, after a crash, all other deliveries wait for suspects at most.
    let suspectPatience: Duration

    init(
        _ conversations: ConversationPartitions, releaseBackoff: Backoff, suspectPatience: Duration
    ) {
        self.releaseBackoff = releaseBackoff
        self.suspectPatience = suspectPatience
        partitions = conversations.all.map { Partition($0.executor) }
    }

    /// The numbers of unfinished, parked and unreadable deliveries.
    var counts: (pending: Int, parked: Int, unreadable: Int) {
        (pendingCount, quotas.parkedCount, unreadable.load(ordering: .relaxed))
    }

    /// The number of unfinished deliveries.
    var pendingCount: Int { pending.load(ordering: .relaxed) }

    /// Adds deliveries in order; returns, for each, the backlog of its business with the delivery itself
    /// included.
    @discardableResult
    func add(_ deliveries: [Lease]) -> [Backlog] {
        pending.add(deliveries.count, ordering: .relaxed)
        let backlogs = quotas.add(deliveries)
        for delivery in deliveries {
            let pending = delivery.pending
            change(delivery.conversation) { $0.add(pending, to: delivery.conversation) }
            if pending.awaitsReference { resume(references.withLock { $0.add(delivery) }) }
            if pending.isParked, pending.recording.isDone {
                resume(pending.record, of: delivery.conversation, after: remaining(until: pending.due))
            }
        }
        return backlogs
    }

    /// Returns whether the conversation will be closed, according to its last unfinished message that writes
    /// or closes.
    ///
    /// Returns nil when no unfinished message writes to the conversation or closes it.
    func closes(_ key: ConversationKey) -> Bool? { withQueues(of: key) { $0.closes(key) } }

    /// All messages that are not finished.
    var all: [Lease] { partitions.flatMap { $0.state.withLock { $0.queues.all } } }

    /// Lets a postponed or parked delivery be leased again after a delay.
    func resume(_ record: UInt64, of key: ConversationKey, after delay: Duration) {
        timers.asyncAfter(deadline: .now() + delay.dispatchInterval) { [weak self] in
            self?.change(key) { $0.resume(record, of: key) }
        }
    }

    /// Lets the postponed and parked deliveries of a conversation be leased now.
    func resumeAll(of key: ConversationKey) { change(key) { $0.resumeAll(of: key) } }

    /// Finds an unfinished delivery, and whether it is leased; searches all conversations.
    func find(_ record: UInt64) -> (lease: Lease, isLeased: Bool)? {
        for partition in partitions {
            if let found = partition.state.withLock({ $0.queues.find(record) }) { return found }
        }
        return nil
    }

    /// Removes an unfinished delivery, so that the next delivery of its conversation can be leased.
    ///
    /// Returns false when the delivery is absent, or when `mayEnd`, which gets whether it is leased, returns false.
    func end(
        _ record: UInt64, of key: ConversationKey, where mayEnd: (PendingDelivery, _ isLeased: Bool) -> Bool
    ) -> Bool {
        guard let (removed, wasLeased) = change(key, { $0.remove(record, of: key, where: mayEnd) }) else {
            return false
        }
        if removed.isSuspect { handOver(ready.withLock { $0.clear(record) }) }
        pending.subtract(1, ordering: .relaxed)
        quotas.recordEnd(
            of: key.business, wasParked: removed.isParked,
            finishedAt: wasLeased ? SystemClock.nanoseconds() : nil)
        return true
    }

    /// Stops leasing; resumes all waiters with nil.
    func close() {
        handOver(ready.withLock { $0.close() })
        resume(references.withLock { $0.close() })
    }

    /// Changes the queues of a conversation's partition and schedules the work that became possible.
    func change(
        _ key: ConversationKey, _ body: (inout ConversationQueues) -> ConversationQueues.Progress
    ) {
        _ = change(key) { queues -> (Bool, ConversationQueues.Progress) in (true, body(&queues)) }
    }

    func change<Result: Sendable>(
        _ key: ConversationKey,
        _ body: (inout ConversationQueues) -> (Result, ConversationQueues.Progress)
    ) -> Result {
        let partition = partitions[ConversationPartitions.place(of: key)]
        let (result, deliverable, beginsRecording) = partition.state.withLock { state in
            let (result, deliverable) = state.change(key, body)
            let begins = !state.isRecording && !state.recordable.isEmpty
            if begins { state.isRecording = true }
            return (result, deliverable, begins)
        }
        if beginsRecording { spawnRecording(in: partition) }
        if let deliverable { handOver(ready.withLock { $0.add(deliverable) }) }
        return result
    }

    /// Reads or changes the queues of a conversation's partition without scheduling anything.
    func withQueues<Result: Sendable>(
        of key: ConversationKey, _ body: (inout ConversationQueues) -> Result
    ) -> Result {
        partitions[ConversationPartitions.place(of: key)].state.withLock { body(&$0.queues) }
    }
}

/// Returns the time until a recovered delivery is due; at most one day, even when the clock was set back.
func remaining(until due: Timestamp?, from now: Timestamp = .now()) -> Duration {
    guard let due else { return .zero }
    let milliseconds = due.milliseconds - now.milliseconds
    return .milliseconds(min(max(0, milliseconds), 86_400_000))
}
