import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// Hands deliveries and references to the tasks that wait for them.
final class DeliveryScheduler: Sendable {
    private let queues = Mutex(DeliveryQueues())
    private let references = Mutex(ReferenceLane(slots: 16, share: 4))
    private let pending = Atomic<Int>(0)
    /// The same for each business.
    let quotas = PendingQuotas()
    private let lastWaiter = Atomic<UInt64>(0)
    private let timers = DispatchQueue(label: "balloon.deliveries")

    /// How many deliveries are not finished, how many of those are parked, and how many cannot be read back.
    var counts: (pending: Int, parked: Int, unreadable: Int) {
        queues.withLock { ($0.count, $0.parked, $0.unreadable) }
    }

    /// How many deliveries are not finished; waits for nobody.
    var pendingCount: Int { pending.load(ordering: .relaxed) }

    /// How many references nobody fetches yet.
    var referenceCount: Int { references.withLock { $0.count } }

    /// Adds deliveries in their order; returns the backlog of each one's business behind it.
    @discardableResult
    func add(_ deliveries: [Lease]) -> [Int] {
        pending.add(deliveries.count, ordering: .relaxed)
        quotas.add(deliveries)
        let now = SystemClock.nanoseconds()
        let (handovers, backlogs) = queues.withLock { queues in
            (
                deliveries.compactMap { queues.add($0.pending, to: $0.conversation) },
                deliveries.map { queues.backlog(beside: $0.conversation, at: now) }
            )
        }
        resume(handovers)
        for delivery in deliveries where delivery.pending.awaitsReference {
            resume(references.withLock { $0.add(delivery) })
        }
        for delivery in deliveries where delivery.pending.isParked {
            resume(
                delivery.pending.record, of: delivery.conversation,
                after: remaining(until: delivery.pending.due))
        }
        return backlogs
    }

    /// Waits for a delivery of a business; nil when closed or cancelled.
    func next(for business: BusinessID) async -> Lease? {
        if !Task.isCancelled, let lease = queues.withLock({ $0.lease(for: business) }) { return lease }
        let id = lastWaiter.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = LeaseWaiter(id: id, continuation: continuation)
                // Cancellation is visible before its handler runs, so that one of the two sees the other.
                resume(
                    queues.withLock { Task.isCancelled ? (waiter, nil) : $0.lease(for: business, or: waiter) }
                )
            }
        } onCancel: {
            resume(queues.withLock { $0.cancel(id, for: business) })
        }
    }

    /// Hands out nothing more while something cannot be written; whether anything was handed out until now.
    func hold(_ reason: DeliveryQueues.Holds) -> Bool { queues.withLock { $0.hold(reason) } }

    /// Takes a reason away; whether it was the last.
    func release(_ reason: DeliveryQueues.Holds) -> Bool {
        let (handovers, isFree) = queues.withLock { queues in
            let wasHeld = !queues.holds.isEmpty
            return (queues.release(reason), wasHeld && queues.holds.isEmpty)
        }
        resume(handovers)
        return isFree
    }

    /// Hands out one delivery while conversations cannot be written; whether that is so still.
    func probe() -> Bool {
        let (handover, goesOn) = queues.withLock { ($0.probe(), $0.holds.contains(.conversations)) }
        resume(handover)
        return goesOn
    }

    /// Waits for a message whose reference nobody fetches yet; nil when closed or cancelled.
    func nextReference() async -> Lease? {
        let id = lastWaiter.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = LeaseWaiter(id: id, continuation: continuation)
                resume(references.withLock { Task.isCancelled ? [(waiter, nil)] : $0.wait(waiter) })
            }
        } onCancel: {
            resume(references.withLock { $0.cancel(id) })
        }
    }

    /// Takes back the slot of a reference that was handed out.
    func releaseReference(of business: BusinessID) { resume(references.withLock { $0.release(business) }) }

    /// Changes how many references may be out at once, and how many of them each business may have in any case.
    func limitReferences(slots: Int, share: Int) {
        resume(references.withLock { $0.resize(slots: slots, share: share) })
    }

    /// Runs `body` on the queues; for what hands nothing over.
    func withQueues<Result: Sendable>(_ body: (inout DeliveryQueues) -> Result) -> Result {
        queues.withLock { body(&$0) }
    }

    /// Notes the end of a reference and lets the delivery go when it is its turn.
    func resolve(_ record: UInt64, of key: ConversationKey, at location: RecordLocation) {
        resume(queues.withLock { $0.resolve(record, of: key, at: location) ? $0.advance(key) : nil })
    }

    /// Gives a lease back for a while; false when it is not leased.
    func postpone(_ record: UInt64, of key: ConversationKey, after delay: Duration) -> Bool {
        guard queues.withLock({ $0.postpone(record, of: key) }) else { return false }
        resume(record, of: key, after: delay)
        return true
    }

    /// Gives a lease back without its attempt, and returns for how long; nil when it is not leased.
    func giveBack(_ record: UInt64, of key: ConversationKey) -> Duration? {
        guard let result = queues.withLock({ $0.giveBack(record, of: key) }) else { return nil }
        resume(result.next)
        let delay = pause(afterGivingBack: result.times)
        resume(record, of: key, after: delay)
        return delay
    }

    /// Lets a reference that could not be read be fetched after a pause.
    func giveBackReference(_ lease: Lease) {
        var pending = lease.pending
        pending.timesGivenBack = min(pending.timesGivenBack, .max - 1) + 1
        let again = Lease(conversation: lease.conversation, pending: pending)
        let delay = pause(afterGivingBack: pending.timesGivenBack)
        timers.asyncAfter(deadline: .now() + delay.dispatchInterval) { [weak self] in
            guard let self else { return }
            self.resume(self.references.withLock { $0.add(again) })
        }
    }

    private func pause(afterGivingBack times: UInt8) -> Duration {
        min(Duration.seconds(1) * (1 << Int(min(times, 6) - 1)), .seconds(30))
    }

    /// Gives a lease back for a while and lets the others of its conversation go on; false when it is not leased.
    func park(_ record: UInt64, of key: ConversationKey, after delay: Duration) -> Bool {
        guard let result = queues.withLock({ $0.park(record, of: key) }) else { return false }
        resume(result.next)
        resume(record, of: key, after: delay)
        return true
    }

    private func resume(_ record: UInt64, of key: ConversationKey, after delay: Duration) {
        timers.asyncAfter(deadline: .now() + delay.dispatchInterval) { [weak self] in
            guard let self else { return }
            self.resume(self.queues.withLock { $0.resume(record, of: key) })
        }
    }

    /// Ends a delivery; nil when it is not leased.
    func finish(_ record: UInt64, of key: ConversationKey) -> PendingDelivery? {
        let now = SystemClock.nanoseconds()
        let result = queues.withLock { $0.finish(record, of: key, at: now) }
        if result != nil {
            pending.subtract(1, ordering: .relaxed)
            quotas.finish(key.business)
        }
        resume(result?.next)
        return result?.finished
    }

    /// Finds an unfinished delivery, and whether it is leased; reads all of them.
    func find(_ record: UInt64) -> (lease: Lease, isLeased: Bool)? { queues.withLock { $0.find(record) } }

    /// Removes an unfinished delivery, and the next of its conversation can be leased; false when it is leased and not
    /// `evenLeased`, or absent.
    func remove(_ record: UInt64, of key: ConversationKey, evenLeased: Bool) -> Bool {
        if evenLeased, finish(record, of: key) != nil { return true }
        guard let result = queues.withLock({ $0.remove(record, of: key) }) else { return false }
        pending.subtract(1, ordering: .relaxed)
        quotas.finish(key.business)
        resume(result.next)
        return true
    }

    /// Lets nobody wait any more.
    func close() {
        resume(queues.withLock { $0.close() })
        resume(references.withLock { $0.close() })
    }

    private func resume(_ handover: DeliveryQueues.Handover?) {
        guard let handover else { return }
        handover.waiter.continuation.resume(returning: handover.lease)
    }

    private func resume(_ handovers: [DeliveryQueues.Handover]) {
        for handover in handovers { handover.waiter.continuation.resume(returning: handover.lease) }
    }
}

/// The time until a recovered delivery is due; a clock that was set back makes it no longer than the longest pause.
func remaining(until due: Timestamp?, from now: Timestamp = .now()) -> Duration {
    guard let due else { return .zero }
    let milliseconds = due.milliseconds - now.milliseconds
    return .milliseconds(min(max(0, milliseconds), 86_400_000))
}
