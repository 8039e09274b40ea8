import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// References: the payloads of some messages must be downloaded before the messages are recorded.
extension DeliveryScheduler {
    /// The number of references that wait for their download.
    var referenceCount: Int { references.withLock { $0.count } }

    /// Waits for a message whose payload must be downloaded; nil when the scheduler is closed or the task is
    /// cancelled.
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

    /// Sets how many references may be leased at the same time, and the share of these that each business may
    /// always use.
    func limitReferences(slots: Int, share: Int) {
        resume(references.withLock { $0.resize(slots: slots, share: share) })
    }

    /// Whether a message's reference is unresolved.
    func awaitsReference(_ record: UInt64, of key: ConversationKey) -> Bool {
        withQueues(of: key) { $0.awaitsReference(record, of: key) }
    }

    /// Lets a reference be leased again after a pause, because its message could not be read.
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

    func resume(_ handovers: [ReferenceQueue.Handover]) {
        for handover in handovers { handover.waiter.continuation.resume(returning: handover.lease) }
    }
}
