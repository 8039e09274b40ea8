import BusinessMessages

/// The order of deliveries: first in, first out in a conversation and one at a time; conversations side by
/// side.
///
/// A value without effects: what must be resumed is returned to the caller.
struct DeliveryQueues: Sendable {
    /// Somebody who waits for a lease, and the lease; nil says that there will be none.
    typealias Handover = (waiter: LeaseWaiter, lease: Lease?)

    private var conversations: [ConversationKey: Conversation] = [:]
    private var lanes: [BusinessID: Lane] = [:]
    private var isClosed = false
    /// How many deliveries are not finished.
    private(set) var count = 0
    /// How many deliveries cannot be read back.
    private(set) var unreadable = 0

    private struct Conversation {
        var pending = FIFO<PendingDelivery>()
        var head = Head.idle
    }

    private enum Head {
        /// Nothing is done about the first delivery: there is none, it awaits its payload, or it was
        /// postponed.
        case idle
        /// The first delivery waits to be leased.
        case ready
        /// The first delivery is out.
        case leased
        /// The first delivery was given back and waits for its time.
        case postponed
        /// The first delivery cannot be read; the conversation stands still.
        case unreadable
    }

    private struct Lane {
        var ready = FIFO<ConversationKey>()
        var waiters = FIFO<LeaseWaiter>()
    }

    /// Adds a delivery behind those of its conversation.
    mutating func add(_ pending: PendingDelivery, to key: ConversationKey) -> Handover? {
        conversations[key, default: Conversation()].pending.append(pending)
        count += 1
        return advance(key)
    }

    /// Takes the next delivery of a business, or notes who waits for it.
    mutating func lease(for business: BusinessID, or waiter: LeaseWaiter) -> Handover? {
        if isClosed { return (waiter, nil) }
        if let key = lanes[business, default: Lane()].ready.popFirst() { return (waiter, takeHead(of: key)) }
        lanes[business, default: Lane()].waiters.append(waiter)
        return nil
    }

    /// Takes back who waits.
    mutating func cancel(_ waiter: UInt64, for business: BusinessID) -> Handover? {
        lanes[business]?.waiters.remove { $0.id == waiter }.map { ($0, nil) }
    }

    /// Lets nobody wait any more.
    mutating func close() -> [Handover] {
        isClosed = true
        var handovers: [Handover] = []
        for business in lanes.keys {
            while let waiter = lanes[business]?.waiters.popFirst() { handovers.append((waiter, nil)) }
        }
        return handovers
    }

    /// The leased delivery with this record; nil when it is not leased.
    func leased(_ record: UInt64, of key: ConversationKey) -> PendingDelivery? {
        guard let conversation = conversations[key], conversation.head == .leased,
            let first = conversation.pending.first, first.record == record
        else { return nil }
        return first
    }

    /// Changes the leased delivery; false when it is not leased.
    mutating func update(
        _ record: UInt64, of key: ConversationKey, _ change: (inout PendingDelivery) -> Void
    ) -> Bool {
        guard leased(record, of: key) != nil else { return false }
        withConversation(key) { change(&$0.pending[$0.pending.indices.lowerBound]) }
        return true
    }

    /// Notes the end of a delivery's reference; false when it has none or an end already.
    mutating func resolve(_ record: UInt64, of key: ConversationKey, at location: RecordLocation) -> Bool {
        withConversation(key) { conversation in
            for index in conversation.pending.indices where conversation.pending[index].record == record {
                guard conversation.pending[index].awaitsReference else { return false }
                conversation.pending[index].awaitsReference = false
                conversation.pending[index].related.append(location)
                return true
            }
            return false
        } ?? false
    }

    /// Whether a delivery's reference has no end yet.
    func awaitsReference(_ record: UInt64, of key: ConversationKey) -> Bool {
        guard let pending = conversations[key]?.pending else { return false }
        return pending.indices.contains { pending[$0].record == record && pending[$0].awaitsReference }
    }

    /// Gives a lease back until ``resume(_:of:)``; false when it is not leased.
    mutating func postpone(_ record: UInt64, of key: ConversationKey) -> Bool {
        guard leased(record, of: key) != nil else { return false }
        withConversation(key) { $0.head = .postponed }
        return true
    }

    /// Lets a postponed delivery be leased again.
    mutating func resume(_ record: UInt64, of key: ConversationKey) -> Handover? {
        guard let conversation = conversations[key], conversation.head == .postponed,
            conversation.pending.first?.record == record
        else { return nil }
        withConversation(key) { $0.head = .idle }
        return advance(key)
    }

    /// Leaves a leased delivery where it is for the rest of this life.
    mutating func giveUp(_ lease: Lease) {
        withConversation(lease.conversation) { $0.head = .unreadable }
        unreadable += 1
    }

    /// Takes out a leased delivery and makes the next one of its conversation ready; nil when it is not
    /// leased.
    mutating func finish(_ record: UInt64, of key: ConversationKey) -> (
        finished: PendingDelivery, next: Handover?
    )? {
        guard let finished = leased(record, of: key) else { return nil }
        count -= 1
        let isEmpty = withConversation(key) { conversation in
            _ = conversation.pending.popFirst()
            conversation.head = .idle
            return conversation.pending.isEmpty
        }
        if isEmpty ?? true {
            conversations[key] = nil
            return (finished, nil)
        }
        return (finished, advance(key))
    }

    /// Makes the first delivery of an idle conversation ready when nothing is in its way, and hands it over
    /// when somebody waits.
    mutating func advance(_ key: ConversationKey) -> Handover? {
        let isReady = withConversation(key) { conversation in
            guard conversation.head == .idle, let first = conversation.pending.first, !first.awaitsReference
            else {
                return false
            }
            conversation.head = .ready
            return true
        }
        guard isReady ?? false else { return nil }
        if let waiter = lanes[key.business, default: Lane()].waiters.popFirst() {
            return (waiter, takeHead(of: key))
        }
        lanes[key.business, default: Lane()].ready.append(key)
        return nil
    }

    private mutating func takeHead(of key: ConversationKey) -> Lease? {
        let pending = withConversation(key) { conversation -> PendingDelivery? in
            guard !conversation.pending.isEmpty else { return nil }
            conversation.head = .leased
            let first = conversation.pending.indices.lowerBound
            conversation.pending[first].attempt += 1
            return conversation.pending[first]
        }
        return pending.flatMap { $0 }.map { Lease(conversation: key, pending: $0) }
    }

    /// Changes a conversation in place; nil when there is none.
    @discardableResult
    private mutating func withConversation<Result>(
        _ key: ConversationKey, _ change: (inout Conversation) -> Result
    ) -> Result? {
        guard let index = conversations.index(forKey: key) else { return nil }
        return change(&conversations.values[index])
    }
}

/// A task that waits for a lease.
struct LeaseWaiter: Sendable {
    let id: UInt64
    let continuation: CheckedContinuation<Lease?, Never>
}
