import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// Leases: a recorded message is leased to one task at a time, until it is postponed, parked, released or
/// finished.
extension DeliveryScheduler {
    /// Leases a delivery of a business; nil when none is ready.
    func nextReady(for business: BusinessID) -> Lease? {
        while let key = ready.withLock({ $0.next(of: business) }) {
            if let lease = withQueues(of: key, { $0.lease(key) }) { return lease }
        }
        return nil
    }

    /// Waits until a delivery of a business is ready, and leases it.
    ///
    /// Returns nil when the scheduler is closed or the task is cancelled.
    func next(for business: BusinessID) async -> Lease? {
        if !Task.isCancelled, let lease = nextReady(for: business) { return lease }
        let id = lastWaiter.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = LeaseWaiter(id: id, continuation: continuation)
                // `isCancelled` is set before `onCancel` runs: either this closure sees it, or `onCancel` finds the
                // waiter in the list.
                handOver(
                    ready.withLock {
                        Task.isCancelled ? .end(waiter) : $0.next(of: business, or: waiter)
                    })
            }
        } onCancel: {
            handOver(ready.withLock { $0.cancel(id, of: business) })
        }
    }

    /// Returns the delivery with this record if it is leased; otherwise nil.
    func leased(_ record: UInt64, of key: ConversationKey) -> PendingDelivery? {
        withQueues(of: key) { $0.leased(record, of: key) }
    }

    /// Changes the delivery with this record if it is leased; otherwise returns false.
    @discardableResult
    func update(
        _ record: UInt64, of key: ConversationKey, _ change: (inout PendingDelivery) -> Void
    ) -> Bool {
        withQueues(of: key) { $0.update(record, of: key, change) }
    }

    /// Ends a lease, and lets the delivery be leased again after `delay`; false when the delivery is not
    /// leased.
    ///
    /// With `parks`, later deliveries of the conversation do not wait for it.
    func postpone(_ record: UInt64, of key: ConversationKey, after delay: Duration, parks: Bool) -> Bool {
        guard let delivery = leased(record, of: key) else { return false }
        clear(delivery, of: key)
        guard change(key, { $0.postpone(record, of: key, parks: parks) }) else { return false }
        if parks, !delivery.isParked { quotas.park(key.business) }
        resume(record, of: key, after: delay)
        return true
    }

    /// Ends the lease of a delivery, and does not count it as an attempt.
    ///
    /// Returns the time until the delivery can be leased again; nil when it was not leased.
    func release(_ record: UInt64, of key: ConversationKey) -> Duration? {
        guard let delivery = leased(record, of: key) else { return nil }
        update(record, of: key) {
            $0.attempt -= 1
            $0.releases = $0.releases == .max ? .max : $0.releases + 1
        }
        let delay = releaseBackoff.delay(after: Int(delivery.releases) + 1)
        return postpone(record, of: key, after: delay, parks: delivery.isParked) ? delay : nil
    }

    /// Blocks the conversation of a leased delivery whose records are unreadable, until a restart.
    func markUnreadable(_ lease: Lease) {
        clear(lease.pending, of: lease.conversation)
        withQueues(of: lease.conversation) { $0.markUnreadable(lease.conversation) }
        unreadable.add(1, ordering: .relaxed)
    }

    /// Counts a message that cannot be read back, which blocks its conversation.
    func countUnreadable() { unreadable.add(1, ordering: .relaxed) }

    func handOver(_ handovers: [ReadyConversations.Handover]) {
        for handover in handovers { handOver(handover) }
    }

    /// Leases the delivery of the handover's conversation to its waiter, without the lock of `ready`.
    func handOver(_ handover: ReadyConversations.Handover?) {
        var handover = handover
        while let next = handover {
            let (key, waiter, isTrial): (ConversationKey, LeaseWaiter, Bool)
            switch next {
            case .end(let waiter): return waiter.continuation.resume(returning: nil)
            case .turn(let turn, let isAlone): return turn.continuation.resume(returning: isAlone)
            case .lease(let conversation, let waits, let isAlone):
                (key, waiter, isTrial) = (conversation, waits, isAlone)
            }
            let lease = withQueues(of: key) { $0.lease(key) }
            // An operator may have ended the suspect after it was chosen.
            let suspect = lease.flatMap { $0.pending.isSuspect ? $0.pending.record : nil }
            let others = isTrial ? ready.withLock { $0.beginTrial(of: suspect) } : []
            if let lease {
                waiter.continuation.resume(returning: lease)
                return handOver(others)
            }
            handOver(others)
            handover = ready.withLock { $0.next(of: key.business, or: waiter) }
        }
    }
}
