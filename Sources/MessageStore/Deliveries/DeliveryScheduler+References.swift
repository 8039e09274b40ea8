import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// The messages whose payload reference is resolved before they are recorded, in the order of ``ReferenceQueue``.
extension DeliveryScheduler {
    /// The number of references that wait for their download.
    var referenceCount: Int { references.withLock { $0.count } }

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

    /// Whether a message's reference is unresolved.
    func awaitsReference(_ record: UInt64, of key: ConversationKey) -> Bool {
        withQueues(of: key) { $0.awaitsReference(record, of: key) }
    }

    /// Ends a reference; the message can then be recorded in its turn.
    func resolve(_ record: UInt64, of key: ConversationKey, at location: RecordLocation) {
        change(key) { $0.resolve(record, of: key, at: location) }
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

    func resume(_ handovers: [ReferenceQueue.Handover]) {
        for handover in handovers { handover.waiter.continuation.resume(returning: handover.lease) }
    }
}
