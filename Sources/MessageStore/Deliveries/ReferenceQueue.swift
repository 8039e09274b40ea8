import BalloonPOSIX
import BusinessMessages

/// The payload references that wait for their download, ordered fairly between businesses.
///
/// The order of a conversation's messages does not matter here. The references are leases in a ``FairQueue``;
/// tasks wait for them. Invariant: a task waits only while no reference may be leased. A value without side
/// effects: the caller resumes the returned waiters.
struct ReferenceQueue: Sendable {
    typealias Handover = (waiter: LeaseWaiter, lease: Lease?)

    private var queue: FairQueue<Lease>
    private var waiters = Deque<LeaseWaiter>()
    private var isClosed = false

    init(slots: Int, share: Int) { queue = FairQueue(slots: slots, share: share) }

    /// The number of waiting references.
    var count: Int { queue.waitingCount }

    /// Adds a message with a reference; returns the handovers that became possible.
    mutating func add(_ lease: Lease) -> [Handover] {
        queue.add(lease, of: lease.conversation.business)
        return handOver()
    }

    /// Adds a task that waits for the next reference.
    mutating func wait(_ waiter: LeaseWaiter) -> [Handover] {
        if isClosed { return [(waiter, nil)] }
        waiters.append(waiter)
        return handOver()
    }

    /// Releases the slot of a leased reference.
    mutating func release(_ business: BusinessID) -> [Handover] {
        queue.release(business)
        return handOver()
    }

    /// Changes how many references may be leased at once.
    mutating func resize(slots: Int, share: Int) -> [Handover] {
        queue.resize(slots: slots, share: share)
        return handOver()
    }

    /// Removes a waiter; returns the handover that ends its wait, or nil when it no longer waits.
    mutating func cancel(_ waiter: UInt64) -> Handover? {
        waiters.remove { $0.id == waiter }.map { ($0, nil) }
    }

    /// Removes all waiters, and returns the handovers that end their waits; later waiters are not added.
    mutating func close() -> [Handover] {
        isClosed = true
        var handovers: [Handover] = []
        while let waiter = waiters.popFirst() { handovers.append((waiter, nil)) }
        return handovers
    }

    private mutating func handOver() -> [Handover] {
        var handovers: [Handover] = []
        while let waiter = waiters.first, let lease = queue.next() {
            _ = waiters.popFirst()
            handovers.append((waiter, lease))
        }
        return handovers
    }
}
