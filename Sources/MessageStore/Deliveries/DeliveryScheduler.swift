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
/// The locks here are held for microseconds and never while anything waits for a disk, a handler or the network.
final class DeliveryScheduler: Sendable {
    /// Writes the line of a message and returns the kind under which it was recorded; throws when the write fails.
    ///
    /// A type and no bare closure: a closure that a generic `Mutex` holds gets one more wrapper each time it is read, and
    /// keeps it.
    struct Recorder: Sendable {
        /// The second argument is whether nothing else is recorded or delivered at the same time.
        let record: @Sendable (Lease, Bool) throws -> RecordedLine
    }

    private struct Recording {
        /// Nil before the suspects of the last process are recorded, and after the stop.
        var recorder: Recorder?
        var isStopped = false
    }

    private final class Partition: Sendable {
        struct State {
            var queues = ConversationQueues()
            var recordable = Deque<ConversationKey>()
            var isRecording = false
        }

        let state = Mutex(State())
        let executor: BlockingTaskExecutor

        init(_ executor: BlockingTaskExecutor) { self.executor = executor }
    }

    private let partitions: [Partition]
    private let ready = Mutex(ReadyConversations())
    private let references = Mutex(ReferenceQueue(slots: 16, share: 4))
    /// How many deliveries of each business are not finished, and may be.
    let quotas = PendingQuotas()
    private let recording = Mutex(Recording())
    private let pending = Atomic<Int>(0)
    private let parked = Atomic<Int>(0)
    private let unreadable = Atomic<Int>(0)
    private let lastWaiter = Atomic<UInt64>(0)
    private let timers = DispatchQueue(label: "balloon.deliveries")

    private let releaseBackoff: Backoff

    private let suspectPatience: Duration

    init(_ conversations: ConversationPartitions, releaseBackoff: Backoff, suspectPatience: Duration) {
        self.releaseBackoff = releaseBackoff
        self.suspectPatience = suspectPatience
        partitions = conversations.all.map { Partition($0.executor) }
    }

    /// The numbers of unfinished, parked and unreadable deliveries.
    var counts: (pending: Int, parked: Int, unreadable: Int) {
        (
            pending.load(ordering: .relaxed), parked.load(ordering: .relaxed),
            unreadable.load(ordering: .relaxed)
        )
    }

    /// The number of unfinished deliveries.
    var pendingCount: Int { pending.load(ordering: .relaxed) }

    /// The number of references that wait for their download.
    var referenceCount: Int { references.withLock { $0.count } }

    /// Adds deliveries in order; returns for each the backlog of its business before it.
    @discardableResult
    func add(_ deliveries: [Lease]) -> [Int] {
        pending.add(deliveries.count, ordering: .relaxed)
        quotas.add(deliveries)
        let now = SystemClock.nanoseconds()
        let backlogs = ready.withLock { ready in
            deliveries.map { delivery in
                if !delivery.pending.isParked {
                    ready.changeBacklog(of: delivery.conversation.business, by: 1)
                }
                return ready.backlog(of: delivery.conversation.business, at: now)
            }
        }
        for delivery in deliveries {
            let pending = delivery.pending
            if pending.isParked { parked.add(1, ordering: .relaxed) }
            change(delivery.conversation) { $0.add(pending, to: delivery.conversation) }
            if pending.awaitsReference { resume(references.withLock { $0.add(delivery) }) }
            if pending.isParked, pending.recording.isDone {
                resume(pending.record, of: delivery.conversation, after: remaining(until: pending.due))
            }
        }
        return backlogs
    }

    /// Pauses all deliveries until those that were leased when the last process crashed have run, one at a
    /// time, after the messages that were recorded then.
    ///
    /// The pause ends early when no suspect has run for `suspectPatience`, because their handlers are not ready.
    func holdForSuspects(_ count: Int, recording: Bool) {
        if recording { _ = ready.withLock { $0.hold(.recording) } }
        guard count > 0 else { return }
        ready.withLock { $0.holdForSuspects(count) }
        watchSuspects(remaining: count)
    }

    private func watchSuspects(remaining: Int) {
        timers.asyncAfter(deadline: .now() + suspectPatience.dispatchInterval) { [weak self] in
            guard let self else { return }
            let (trial, count) = self.ready.withLock { ($0.trial, $0.suspectCount) }
            guard count > 0 else { return }
            if trial == .runs || count < remaining { return self.watchSuspects(remaining: count) }
            self.handOver(self.ready.withLock { $0.releaseSuspects() })
        }
    }

    /// Whether a suspect is leased while all other deliveries wait.
    var isTrying: Bool { ready.withLock { $0.trial != .none } }

    /// Records that the leased suspect waits for its handler, or waits no longer; false when it does not run alone.
    func setTrialWaiting(_ isWaiting: Bool) -> Bool { ready.withLock { $0.setTrialWaiting(isWaiting) } }

    /// Ends the lease of a suspect that did not crash the process.
    private func clear(_ delivery: PendingDelivery, of key: ConversationKey) {
        guard delivery.isSuspect else { return }
        let (hasRun, handovers) = ready.withLock { $0.endTrial() }
        if hasRun { update(delivery.record, of: key) { $0.isSuspect = false } }
        handOver(handovers)
    }

    /// Starts recording messages with `record`, each on the executor of its partition; suspects first, one at a time.
    func startRecording(_ record: @escaping @Sendable (Lease, Bool) throws -> RecordedLine) {
        start(Recorder(record: record), behind: partitions[...])
    }

    private func start(_ recorder: Recorder, behind rest: ArraySlice<Partition>) {
        guard holds.contains(.recording), let partition = rest.first else {
            recording.withLock { if !$0.isStopped { $0.recorder = recorder } }
            for partition in partitions { scheduleRecording(in: partition) }
            _ = release(.recording)
            return
        }
        Task(executorPreference: partition.executor) {
            self.recordSuspects(in: partition, recorder)
            self.start(recorder, behind: rest.dropFirst())
        }
    }

    /// Records each suspect of the partition and the messages before it; runs on the partition's executor.
    private func recordSuspects(in partition: Partition, _ recorder: Recorder) {
        for key in partition.state.withLock({ $0.queues.withUnrecordedSuspects }) {
            while let lease = partition.state.withLock({ $0.queues.nextSuspectToRecord(of: key) }) {
                if recording.withLock({ $0.isStopped }) { return }
                do { recorded(lease, as: try recorder.record(lease, true)) } catch {
                    postponeRecording(of: key)
                    break
                }
            }
        }
    }

    /// Stops recording; returns when current recordings are complete.
    func stopRecording() async {
        recording.withLock { $0 = Recording(isStopped: true) }
        for partition in partitions {
            await Task(executorPreference: partition.executor) {}.value
        }
    }

    private func scheduleRecording(in partition: Partition) {
        let begins = partition.state.withLock { state in
            guard !state.isRecording, !state.recordable.isEmpty else { return false }
            state.isRecording = true
            return true
        }
        if begins { spawnRecording(in: partition) }
    }

    private func spawnRecording(in partition: Partition) {
        Task(executorPreference: partition.executor) { self.record(in: partition) }
    }

    /// Records until no conversation of the partition has a recordable message; runs on the partition's
    /// executor.
    private func record(in partition: Partition) {
        while true {
            let next = partition.state.withLock { state -> (Recorder, ConversationKey, Lease?)? in
                // Read under this lock: `start` sets the recorder first and then looks at `isRecording`, so a task
                // that saw no recorder has ended by then, and another one is started.
                let recorder = recording.withLock { $0.recorder }
                guard let recorder, let key = state.recordable.popFirst() else {
                    state.isRecording = false
                    return nil
                }
                return (recorder, key, state.queues.nextToRecord(of: key))
            }
            guard let (recorder, key, lease) = next else { return }
            guard let lease else { continue }
            do {
                recorded(lease, as: try recorder.record(lease, false))
            } catch {
                postponeRecording(of: key)
            }
        }
    }

    private func recorded(_ lease: Lease, as line: RecordedLine) {
        let key = lease.conversation
        let parked = change(key) { queues in
            let (parked, progress) = queues.record(lease.pending.record, of: key, as: line)
            return (parked, progress)
        }
        if let parked { resume(parked.record, of: key, after: remaining(until: parked.due)) }
    }

    private func postponeRecording(of key: ConversationKey) {
        let times = withQueues(of: key) { $0.postponeRecording(of: key) }
        timers.asyncAfter(deadline: .now() + releaseBackoff.delay(after: Int(times) + 1).dispatchInterval) {
            [weak self] in
            self?.change(key) { $0.resumeRecording(of: key) }
        }
    }

    /// Leases a delivery of a business if one is ready.
    func nextReady(for business: BusinessID) -> Lease? {
        while let key = ready.withLock({ $0.next(of: business) }) {
            if let lease = withQueues(of: key, { $0.lease(key) }) { return lease }
        }
        return nil
    }

    /// Waits for a delivery of a business; nil when closed or cancelled.
    func next(for business: BusinessID) async -> Lease? {
        if !Task.isCancelled, let lease = nextReady(for: business) { return lease }
        let id = lastWaiter.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = LeaseWaiter(id: id, continuation: continuation)
                // A cancellation is visible before its handler runs, so one of the two sees the other.
                handOver(
                    ready.withLock {
                        Task.isCancelled ? waiter.handover : $0.next(of: business, or: waiter)
                    })
            }
        } onCancel: {
            handOver(ready.withLock { $0.cancel(id, of: business) })
        }
    }

    /// The reasons why no delivery is leased at the moment; empty when deliveries are leased.
    var holds: ReadyConversations.Holds { ready.withLock { $0.holds } }

    /// Pauses all leases for this reason; returns whether they were not paused before.
    func hold(_ reason: ReadyConversations.Holds) -> Bool { ready.withLock { $0.hold(reason) } }

    /// Removes a reason; returns whether it was the last.
    func release(_ reason: ReadyConversations.Holds) -> Bool {
        let (handovers, isFree) = ready.withLock { ready in
            let wasHeld = !ready.holds.isEmpty
            return (ready.release(reason), wasHeld && ready.holds.isEmpty)
        }
        handOver(handovers)
        return isFree
    }

    /// Leases one delivery while conversation writes fail; returns whether they still do.
    func probe() -> Bool {
        let (handover, isHeld) = ready.withLock { ($0.probe(), $0.holds.contains(.conversations)) }
        handOver(handover)
        return isHeld
    }

    /// Waits for a message whose reference needs a download; nil when closed or cancelled.
    func nextReference() async -> Lease? {
        let id = lastWaiter.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = LeaseWaiter(id: id, continuation: continuation)
                resume(references.withLock { Task.isCancelled ? [(waiter, nil)] : $0.wait(waiter) })
            }
        } onCancel: {
            resume(references.withLock { $0.cancel(id).map { [$0] } ?? [] })
        }
    }

    /// Releases the slot of a leased reference.
    func releaseReference(of business: BusinessID) { resume(references.withLock { $0.release(business) }) }

    /// Sets the number of concurrent references, and the share that each business may always use.
    func limitReferences(slots: Int, share: Int) {
        resume(references.withLock { $0.resize(slots: slots, share: share) })
    }

    /// The leased delivery with this record; nil when it is not leased.
    func leased(_ record: UInt64, of key: ConversationKey) -> PendingDelivery? {
        withQueues(of: key) { $0.leased(record, of: key) }
    }

    /// Changes the leased delivery; false when it is not leased.
    @discardableResult
    func update(
        _ record: UInt64, of key: ConversationKey, _ change: (inout PendingDelivery) -> Void
    ) -> Bool {
        withQueues(of: key) { $0.update(record, of: key, change) }
    }

    /// Whether a message's reference is unresolved.
    func awaitsReference(_ record: UInt64, of key: ConversationKey) -> Bool {
        withQueues(of: key) { $0.awaitsReference(record, of: key) }
    }

    /// Whether the last relevant unfinished message closes the conversation; nil when there is none.
    func closes(_ key: ConversationKey) -> Bool? { withQueues(of: key) { $0.closes(key) } }

    /// All recorded messages that are not finished.
    var recorded: [Lease] { partitions.flatMap { $0.state.withLock { $0.queues.recorded } } }

    /// Ends a reference; the message can then be recorded in its turn.
    func resolve(_ record: UInt64, of key: ConversationKey, at location: RecordLocation) {
        change(key) { $0.resolve(record, of: key, at: location) }
    }

    /// Releases a lease for a while; false when it is not leased.
    func postpone(_ record: UInt64, of key: ConversationKey, after delay: Duration) -> Bool {
        guard let delivery = leased(record, of: key) else { return false }
        clear(delivery, of: key)
        guard withQueues(of: key, { $0.postpone(record, of: key) }) else { return false }
        resume(record, of: key, after: delay)
        return true
    }

    /// Ends the lease of a delivery without counting an attempt.
    ///
    /// Returns the time until it can be leased again; nil when the delivery was not leased.
    func release(_ record: UInt64, of key: ConversationKey) -> Duration? {
        guard let delivery = leased(record, of: key) else { return nil }
        update(record, of: key) {
            $0.attempt -= 1
            $0.releases = $0.releases == .max ? .max : $0.releases + 1
        }
        let delay = releaseBackoff.delay(after: Int(delivery.releases) + 1)
        let isReleased =
            delivery.isParked ? park(record, of: key, after: delay) : postpone(record, of: key, after: delay)
        return isReleased ? delay : nil
    }

    /// Makes an unreadable reference available again after a pause.
    func releaseReference(_ lease: Lease) {
        var pending = lease.pending
        pending.releases = min(pending.releases, .max - 1) + 1
        let again = Lease(conversation: lease.conversation, pending: pending)
        timers.asyncAfter(
            deadline: .now() + releaseBackoff.delay(after: Int(lease.pending.releases) + 1).dispatchInterval
        ) {
            [weak self] in
            guard let self else { return }
            self.resume(self.references.withLock { $0.add(again) })
        }
    }

    /// Parks a delivery: releases its lease until its retry, so that later deliveries of the conversation can be
    /// leased; false when it is not leased.
    func park(_ record: UInt64, of key: ConversationKey, after delay: Duration) -> Bool {
        guard let delivery = leased(record, of: key) else { return false }
        clear(delivery, of: key)
        if !delivery.isParked {
            parked.add(1, ordering: .relaxed)
            ready.withLock { $0.changeBacklog(of: key.business, by: -1) }
        }
        change(key) { $0.park(record, of: key) ?? [] }
        resume(record, of: key, after: delay)
        return true
    }

    /// Blocks an unreadable leased delivery until a restart.
    func markUnreadable(_ lease: Lease) {
        clear(lease.pending, of: lease.conversation)
        withQueues(of: lease.conversation) { $0.markUnreadable(lease.conversation) }
        unreadable.add(1, ordering: .relaxed)
    }

    /// Counts a message that cannot be read back, which blocks its conversation.
    func countUnreadable() { unreadable.add(1, ordering: .relaxed) }

    private func resume(_ record: UInt64, of key: ConversationKey, after delay: Duration) {
        timers.asyncAfter(deadline: .now() + delay.dispatchInterval) { [weak self] in
            self?.change(key) { $0.resume(record, of: key) }
        }
    }

    /// Ends a delivery; nil when it is not leased.
    func finish(_ record: UInt64, of key: ConversationKey) -> PendingDelivery? {
        let now = SystemClock.nanoseconds()
        let finished = change(key) { queues -> (PendingDelivery?, ConversationQueues.Progress) in
            guard let (finished, progress) = queues.finish(record, of: key) else { return (nil, []) }
            return (finished, progress)
        }
        guard let finished else { return nil }
        if finished.isSuspect { handOver(ready.withLock { $0.endTrial(isFinished: true).handovers }) }
        pending.subtract(1, ordering: .relaxed)
        quotas.finish(key.business)
        if finished.isParked { parked.subtract(1, ordering: .relaxed) }
        ready.withLock { $0.recordFinish(of: key.business, wasParked: finished.isParked, at: now) }
        return finished
    }

    /// Finds an unfinished delivery, and whether it is leased; reads all of them.
    func find(_ record: UInt64) -> (lease: Lease, isLeased: Bool)? {
        for partition in partitions {
            if let found = partition.state.withLock({ $0.queues.find(record) }) { return found }
        }
        return nil
    }

    /// Removes an unfinished delivery, so that the next of its conversation can be leased; false when it is
    /// absent, or leased without `evenLeased`.
    func remove(_ record: UInt64, of key: ConversationKey, evenLeased: Bool) -> Bool {
        if evenLeased, finish(record, of: key) != nil { return true }
        let removed = change(key) { queues -> (PendingDelivery?, ConversationQueues.Progress) in
            guard let (removed, progress) = queues.remove(record, of: key) else { return (nil, []) }
            return (removed, progress)
        }
        guard let removed else { return false }
        if removed.isSuspect { handOver(ready.withLock { $0.removeSuspect() }) }
        pending.subtract(1, ordering: .relaxed)
        quotas.finish(key.business)
        if removed.isParked {
            parked.subtract(1, ordering: .relaxed)
        } else {
            ready.withLock { $0.changeBacklog(of: key.business, by: -1) }
        }
        return true
    }

    /// Stops leasing; resumes all waiters with nil.
    func close() {
        handOver(ready.withLock { $0.close() })
        resume(references.withLock { $0.close() })
    }

    /// Changes the queues of a conversation's partition and schedules the work that became possible.
    private func change(
        _ key: ConversationKey, _ body: (inout ConversationQueues) -> ConversationQueues.Progress
    ) {
        _ = change(key) { queues -> (Bool, ConversationQueues.Progress) in (true, body(&queues)) }
    }

    private func change<Result: Sendable>(
        _ key: ConversationKey,
        _ body: (inout ConversationQueues) -> (Result, ConversationQueues.Progress)
    ) -> Result {
        let partition = partitions[ConversationPartitions.place(of: key)]
        let (result, isDeliverable, isSuspect, beginsRecording) = partition.state.withLock { state in
            let (result, progress) = body(&state.queues)
            var begins = false
            if progress.contains(.recordable) {
                state.recordable.append(key)
                begins = !state.isRecording
                state.isRecording = true
            }
            let isDeliverable = progress.contains(.deliverable)
            let isSuspect = isDeliverable && state.queues.isSuspectNext(of: key)
            return (result, isDeliverable, isSuspect, begins)
        }
        if beginsRecording { spawnRecording(in: partition) }
        if isDeliverable { handOver(ready.withLock { isSuspect ? $0.addSuspect(key) : $0.add(key) }) }
        return result
    }

    private func withQueues<Result: Sendable>(
        of key: ConversationKey, _ body: (inout ConversationQueues) -> Result
    ) -> Result {
        partitions[ConversationPartitions.place(of: key)].state.withLock { body(&$0.queues) }
    }

    private func handOver(_ handovers: [ReadyConversations.Handover]) {
        for handover in handovers { handOver(handover) }
    }

    /// Leases the conversation's delivery to the waiter, outside of the lock of `ready`.
    private func handOver(_ handover: ReadyConversations.Handover?) {
        var handover = handover
        while let next = handover {
            let waiter = next.waiter
            guard let key = next.conversation else { return waiter.continuation.resume(returning: nil) }
            let lease = withQueues(of: key) { $0.lease(key) }
            // An operator may have ended the suspect meanwhile.
            let isCancelled = next.isTrial && lease?.pending.isSuspect != true
            let others = isCancelled ? ready.withLock { $0.cancelTrial() } : []
            if let lease {
                waiter.continuation.resume(returning: lease)
                return handOver(others)
            }
            handOver(others)
            handover = ready.withLock { $0.next(of: key.business, or: waiter) }
        }
    }

    private func resume(_ handovers: [ReferenceQueue.Handover]) {
        for handover in handovers { handover.waiter.continuation.resume(returning: handover.lease) }
    }
}

/// The time until a recovered delivery is due; at most the longest pause, even when the clock was set back.
func remaining(until due: Timestamp?, from now: Timestamp = .now()) -> Duration {
    guard let due else { return .zero }
    let milliseconds = due.milliseconds - now.milliseconds
    return .milliseconds(min(max(0, milliseconds), 86_400_000))
}
