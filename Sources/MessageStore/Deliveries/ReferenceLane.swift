import BusinessMessages

/// The payload references that nobody fetches yet, outside the order of conversations.
struct ReferenceLane: Sendable {
    typealias Handover = (waiter: LeaseWaiter, lease: Lease?)

    private var ready = FIFO<Lease>()
    private var waiters = FIFO<LeaseWaiter>()
    private var isClosed = false

    /// How many nobody fetches yet.
    var count: Int { ready.count }

    /// Adds a message with a reference.
    mutating func add(_ lease: Lease) -> Handover? {
        if let waiter = waiters.popFirst() { return (waiter, lease) }
        ready.append(lease)
        return nil
    }

    /// Takes the next one, or notes who waits for it.
    mutating func take(or waiter: LeaseWaiter) -> Handover? {
        if isClosed { return (waiter, nil) }
        if let lease = ready.popFirst() { return (waiter, lease) }
        waiters.append(waiter)
        return nil
    }

    /// Takes back who waits.
    mutating func cancel(_ waiter: UInt64) -> Handover? {
        waiters.remove { $0.id == waiter }.map { ($0, nil) }
    }

    /// Lets nobody wait any more.
    mutating func close() -> [Handover] {
        isClosed = true
        var handovers: [Handover] = []
        while let waiter = waiters.popFirst() { handovers.append((waiter, nil)) }
        return handovers
    }
}
