import BusinessMessages
import MessageStore
import Synchronization

/// A bounded number of slots that tasks of several businesses acquire in the order of a ``FairQueue``.
///
/// Invariant: a slot is granted only while fewer slots are held than ``resize(to:share:)`` allows. Lowering
/// the number revokes no slot. While a business with less than its share waits, no other business gets more
/// than its share.
///
/// ``AsyncSemaphore`` is not fair between businesses. The store's `ReferenceQueue` applies the same rule to
/// work that waits in the store, without a task for each element.
final class FairSlots: Sendable {
    private struct State {
        var queue: FairQueue<UInt64>
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextTicket: UInt64 = 0

        /// Assigns free slots to the tasks whose turn has come; removes these tasks from `waiting` and
        /// returns them.
        mutating func ready() -> [CheckedContinuation<Bool, Never>] {
            var ready: [CheckedContinuation<Bool, Never>] = []
            while let ticket = queue.next() {
                if let task = waiting.removeValue(forKey: ticket) { ready.append(task) }
            }
            return ready
        }
    }

    private let state: Mutex<State>

    init(_ count: Int, share: Int) { state = Mutex(State(queue: FairQueue(slots: count, share: share))) }

    /// The number of held slots, and of tasks that wait for one.
    var counts: (held: Int, waiting: Int) { state.withLock { ($0.queue.held, $0.queue.waitingCount) } }

    /// Changes the number of slots; held slots stay held.
    func resize(to count: Int, share: Int) {
        let ready = state.withLock { state in
            state.queue.resize(slots: count, share: share)
            return state.ready()
        }
        for task in ready { task.resume(returning: true) }
    }

    /// Acquires a slot for a business, waiting for its turn; false when the task is cancelled first.
    func acquire(for business: BusinessID) async -> Bool {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> [CheckedContinuation<Bool, Never>]? in
                    // A task is marked as cancelled before `onCancel` runs: either this check sees the cancellation, or
                    // `onCancel` finds the ticket.
                    if Task.isCancelled { return nil }
                    state.queue.add(ticket, of: business)
                    state.waiting[ticket] = continuation
                    return state.ready()
                }
                guard let ready else { return continuation.resume(returning: false) }
                for task in ready { task.resume(returning: true) }
            }
        } onCancel: {
            let (cancelled, ready) = state.withLock { state in
                let cancelled = state.queue.remove(of: business) { $0 == ticket }.flatMap {
                    state.waiting.removeValue(forKey: $0)
                }
                // After this removal, only one business may be waiting, and such a business may use all free
                // slots.
                return (cancelled, state.ready())
            }
            cancelled?.resume(returning: false)
            for task in ready { task.resume(returning: true) }
        }
    }

    /// Releases a slot of a business.
    func release(_ business: BusinessID) {
        let ready = state.withLock { state in
            state.queue.release(business)
            return state.ready()
        }
        for task in ready { task.resume(returning: true) }
    }
}
