import BusinessMessages

/// The order of deliveries: first in, first out in a conversation and one at a time; conversations side by
/// side.
///
/// A value without effects: what must be resumed is returned to the caller.
struct DeliveryQueues: Sendable {
    /// Somebody who waits for a lease, and the lease; nil says that there will be none.
    typealias Handover = (waiter: LeaseWaiter, lease: Lease?)

    /// What cannot be written at the moment, so that an attempt would be for nothing.
    struct Holds: OptionSet, Sendable {
        static let journal = Holds(rawValue: 1)
        static let conversations = Holds(rawValue: 2)
        let rawValue: UInt8
    }

    private var conversations: [ConversationKey: Conversation] = [:]
    private var lanes: [Lane] = []
    private var lanePositions: [BusinessID: Int] = [:]
    private var isClosed = false
    /// While there is any, nobody is handed anything.
    private(set) var holds: Holds = []
    /// The lane that is probed first.
    private var probed = 0
    /// How many deliveries are not finished.
    private(set) var count = 0
    /// How many of them are parked.
    private(set) var parked = 0
    /// How many deliveries cannot be read back.
    private(set) var unreadable = 0

    fileprivate struct Conversation {
        /// The position of its business's lane.
        let lane: Int
        var pending = FIFO<PendingDelivery>()
        /// Deliveries outside the order, waiting for their time.
        var parked: [PendingDelivery] = []
        /// Deliveries outside the order whose time has come while another one was out.
        var due = FIFO<PendingDelivery>()
        var head = Head.idle
        /// Whether the next one in the order comes after one that was parked.
        var hasGap = false
    }

    fileprivate enum Head {
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
        /// How many of its deliveries are not finished, those left out that are parked.
        var backlog = 0
        /// When the last one was, in nanoseconds of a clock that never jumps.
        var finishedAt: UInt64 = 0
        var ready = FIFO<ConversationKey>()
        var waiters = FIFO<LeaseWaiter>()
    }

    /// Adds a delivery behind those of its conversation.
    mutating func add(_ pending: PendingDelivery, to key: ConversationKey) -> Handover? {
        count += 1
        if pending.isParked { parked += 1 } else { lanes[lanePosition(of: key.business)].backlog += 1 }
        if let index = conversations.index(forKey: key) {
            conversations.values[index].add(pending)
            return advance(key, at: index)
        }
        var conversation = Conversation(lane: lanePosition(of: key.business))
        conversation.add(pending)
        return start(&conversation, key)
    }

    /// How many deliveries of a conversation's business are not finished, parked ones left out; 0 when none was in the
    /// second before `now`, because then nobody works on them.
    func backlog(beside key: ConversationKey, at now: UInt64) -> Int {
        guard let position = lanePositions[key.business], lanes[position].finishedAt + 1_000_000_000 > now
        else { return 0 }
        return lanes[position].backlog
    }

    /// Takes the next delivery of a business, if there is one that nobody waits for.
    mutating func lease(for business: BusinessID) -> Lease? {
        guard !isClosed, holds.isEmpty, let lane = lanePositions[business], lanes[lane].waiters.isEmpty,
            let key = lanes[lane].ready.popFirst()
        else { return nil }
        return withConversation(key) { $0.lease(key) }.flatMap { $0 }
    }

    /// Takes the next delivery of a business, or notes who waits for it.
    mutating func lease(for business: BusinessID, or waiter: LeaseWaiter) -> Handover? {
        if isClosed { return (waiter, nil) }
        let lane = lanePosition(of: business)
        lanes[lane].waiters.append(waiter)
        return holds.isEmpty ? handOver(in: lane) : nil
    }

    /// Hands out nothing; whether anything was until now.
    mutating func hold(_ reason: Holds) -> Bool {
        defer { holds.formUnion(reason) }
        return holds.isEmpty
    }

    /// Takes a reason away, and hands out what waits when it was the last.
    mutating func release(_ reason: Holds) -> [Handover] {
        guard !holds.isEmpty, holds.subtracting(reason).isEmpty else {
            holds.subtract(reason)
            return []
        }
        holds = []
        var handovers: [Handover] = []
        for lane in lanes.indices {
            while let handover = handOver(in: lane) { handovers.append(handover) }
        }
        return handovers
    }

    /// Hands out one delivery, of another business each time, to find out whether its conversation can be written.
    mutating func probe() -> Handover? {
        guard holds == .conversations else { return nil }
        for _ in lanes.indices {
            probed = (probed + 1) % lanes.count
            if let handover = handOver(in: probed) { return handover }
        }
        return nil
    }

    /// Brings together who waits longest in a lane and what is ready longest; nil when there is only one of them.
    private mutating func handOver(in lane: Int) -> Handover? {
        guard !lanes[lane].ready.isEmpty, let waiter = lanes[lane].waiters.popFirst(),
            let key = lanes[lane].ready.popFirst()
        else { return nil }
        return (waiter, withConversation(key) { $0.lease(key) }.flatMap { $0 })
    }

    /// Takes back who waits.
    mutating func cancel(_ waiter: UInt64, for business: BusinessID) -> Handover? {
        lanePositions[business].flatMap { lanes[$0].waiters.remove { $0.id == waiter } }.map { ($0, nil) }
    }

    /// Lets nobody wait any more.
    mutating func close() -> [Handover] {
        isClosed = true
        var handovers: [Handover] = []
        for lane in lanes.indices {
            while let waiter = lanes[lane].waiters.popFirst() { handovers.append((waiter, nil)) }
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

    /// Those of all deliveries whose message has its line.
    var recorded: [Lease] {
        conversations.flatMap { key, conversation in
            (conversation.pending.indices.map { conversation.pending[$0] } + conversation.parked
                + conversation.due.indices.map { conversation.due[$0] })
                .filter { $0.recordedKind != nil }.map { Lease(conversation: key, pending: $0) }
        }
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

    /// Takes the first delivery of a conversation if it goes out unasked and nothing is in its way.
    mutating func leaseOutbound(of key: ConversationKey) -> Lease? {
        guard let conversation = conversations[key], conversation.head == .ready,
            conversation.pending.first?.isOutbound ?? false,
            lanes[conversation.lane].ready.remove(where: { $0 == key }) != nil
        else { return nil }
        return withConversation(key) { $0.lease(key) }.flatMap { $0 }
    }

    /// Whether a message that nobody was given yet closes the conversation, and none behind it opens it again.
    func closes(_ key: ConversationKey) -> Bool {
        guard let pending = conversations[key]?.pending else { return false }
        let last = pending.indices.last { pending[$0].act != .neither && !pending[$0].isOutbound }
        return last.map { pending[$0].act == .closes } ?? false
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

    /// Gives a lease back, with its attempt, until ``resume(_:of:)``; one that is parked stays so.
    ///
    /// Returns how many times that was done, and nil when it is not leased.
    mutating func giveBack(_ record: UInt64, of key: ConversationKey) -> (times: UInt8, next: Handover?)? {
        guard let delivery = leased(record, of: key) else { return nil }
        let times = delivery.timesGivenBack == .max ? .max : delivery.timesGivenBack + 1
        _ = update(record, of: key) {
            $0.attempt -= 1
            $0.timesGivenBack = times
        }
        if delivery.isParked { return (times, park(record, of: key)?.next) }
        _ = postpone(record, of: key)
        return (times, nil)
    }

    /// Takes a leased delivery out of its conversation's order until ``resume(_:of:)``; nil when it is not leased.
    mutating func park(_ record: UInt64, of key: ConversationKey) -> (
        parked: PendingDelivery, next: Handover?
    )? {
        guard let delivery = leased(record, of: key) else { return nil }
        let parked = withConversation(key) { $0.park() }.flatMap { $0 }
        if !delivery.isParked {
            self.parked += 1
            lanes[lanePosition(of: key.business)].backlog -= 1
        }
        return parked.map { ($0, advance(key)) }
    }

    /// Lets a postponed delivery be leased again.
    mutating func resume(_ record: UInt64, of key: ConversationKey) -> Handover? {
        if withConversation(key, { $0.makeDue(record) }) ?? false { return advance(key) }
        guard let conversation = conversations[key], conversation.head == .postponed,
            conversation.pending.first?.record == record
        else { return nil }
        withConversation(key) { $0.head = .idle }
        return advance(key)
    }

    /// Leaves a leased delivery where it is for the rest of this life.
    mutating func giveUp(_ lease: Lease) {
        withConversation(lease.conversation) { $0.head = .unreadable }
        noteUnreadable()
    }

    /// Counts a delivery whose reference cannot be read back, so that its conversation stands still.
    mutating func noteUnreadable() { unreadable += 1 }

    /// Takes out a leased delivery and makes the next one of its conversation ready; nil when it is not
    /// leased.
    mutating func finish(_ record: UInt64, of key: ConversationKey, at now: UInt64) -> (
        finished: PendingDelivery, next: Handover?
    )? {
        guard let finished = leased(record, of: key) else { return nil }
        count -= 1
        let isEmpty = withConversation(key) { conversation in
            _ = conversation.pending.popFirst()
            conversation.head = .idle
            return conversation.isEmpty
        }
        let lane = lanePosition(of: key.business)
        if finished.isParked { parked -= 1 } else { lanes[lane].backlog -= 1 }
        lanes[lane].finishedAt = now
        if isEmpty ?? true {
            conversations[key] = nil
            return (finished, nil)
        }
        return (finished, advance(key))
    }

    /// Finds a delivery, and whether it is leased; reads all conversations.
    func find(_ record: UInt64) -> (lease: Lease, isLeased: Bool)? {
        for (key, conversation) in conversations {
            guard let delivery = conversation.delivery(record) else { continue }
            return (Lease(conversation: key, pending: delivery), leased(record, of: key) != nil)
        }
        return nil
    }

    /// Removes a delivery in any state but leased; nil when it is leased or absent.
    mutating func remove(_ record: UInt64, of key: ConversationKey) -> (
        removed: PendingDelivery, next: Handover?
    )? {
        guard let conversation = conversations[key], leased(record, of: key) == nil,
            let removed = conversation.delivery(record)
        else { return nil }
        let wasReady = conversation.head == .ready && conversation.pending.first?.record == record
        if wasReady { _ = lanes[conversation.lane].ready.remove { $0 == key } }
        if conversation.head == .unreadable, conversation.pending.first?.record == record { unreadable -= 1 }
        withConversation(key) { $0.remove(record) }
        count -= 1
        if removed.isParked { parked -= 1 } else { lanes[conversation.lane].backlog -= 1 }
        guard let rest = conversations[key], !rest.isEmpty else {
            conversations[key] = nil
            return (removed, nil)
        }
        return (removed, advance(key))
    }

    /// Makes the first delivery of an idle conversation ready when nothing is in its way, and hands it over
    /// when somebody waits.
    mutating func advance(_ key: ConversationKey) -> Handover? {
        conversations.index(forKey: key).flatMap { advance(key, at: $0) }
    }

    private mutating func advance(
        _ key: ConversationKey, at index: Dictionary<ConversationKey, Conversation>.Index
    ) -> Handover? {
        guard conversations.values[index].makeReady() else { return nil }
        let lane = conversations.values[index].lane
        guard holds.isEmpty, let waiter = lanes[lane].waiters.popFirst() else {
            lanes[lane].ready.append(key)
            return nil
        }
        return (waiter, conversations.values[index].lease(key))
    }

    /// Does the same for a conversation that begins.
    private mutating func start(_ conversation: inout Conversation, _ key: ConversationKey) -> Handover? {
        defer { conversations[key] = conversation }
        guard conversation.makeReady() else { return nil }
        guard holds.isEmpty, let waiter = lanes[conversation.lane].waiters.popFirst() else {
            lanes[conversation.lane].ready.append(key)
            return nil
        }
        return (waiter, conversation.lease(key))
    }

    private mutating func lanePosition(of business: BusinessID) -> Int {
        if let position = lanePositions[business] { return position }
        lanes.append(Lane())
        lanePositions[business] = lanes.count - 1
        return lanes.count - 1
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

extension DeliveryQueues.Conversation {
    /// Whether nothing is left, so that nobody needs to remember a gap either.
    fileprivate var isEmpty: Bool { pending.isEmpty && parked.isEmpty && due.isEmpty }

    fileprivate func delivery(_ record: UInt64) -> PendingDelivery? {
        parked.first { $0.record == record }
            ?? pending.indices.first { pending[$0].record == record }.map { pending[$0] }
            ?? due.indices.first { due[$0].record == record }.map { due[$0] }
    }

    /// Removes a delivery that is not leased; those behind it come after a gap.
    fileprivate mutating func remove(_ record: UInt64) {
        if pending.first?.record == record { head = .idle }
        parked.removeAll { $0.record == record }
        _ = due.remove { $0.record == record }
        if pending.remove(where: { $0.record == record }) != nil { hasGap = true }
    }

    /// Takes a delivery in, behind the others or outside their order.
    fileprivate mutating func add(_ delivery: PendingDelivery) {
        guard delivery.isParked else { return pending.append(delivery) }
        parked.append(delivery)
        hasGap = true
    }

    /// Takes the delivery that is out outside the order.
    fileprivate mutating func park() -> PendingDelivery? {
        guard var delivery = pending.popFirst() else { return nil }
        if !delivery.isParked { hasGap = true }
        delivery.isParked = true
        parked.append(delivery)
        head = .idle
        return delivery
    }

    /// Notes that the time of a parked delivery has come; false when it is none.
    ///
    /// It goes before the others as soon as none of them is out or waits for another attempt.
    fileprivate mutating func makeDue(_ record: UInt64) -> Bool {
        guard let index = parked.firstIndex(where: { $0.record == record }) else { return false }
        let delivery = parked.remove(at: index)
        // Who is ready is taken from the front when somebody asks.
        if case .ready = head { pending.prepend(delivery) } else { due.append(delivery) }
        return true
    }

    /// Makes the first delivery of an idle conversation ready; whether it did.
    fileprivate mutating func makeReady() -> Bool {
        guard head == .idle else { return false }
        if let delivery = due.popFirst() { pending.prepend(delivery) }
        guard let first = pending.first, !first.awaitsReference else { return false }
        head = .ready
        return true
    }

    /// Takes the first delivery out for an attempt.
    fileprivate mutating func lease(_ key: ConversationKey) -> Lease? {
        guard !pending.isEmpty else { return nil }
        head = .leased
        let first = pending.indices.lowerBound
        pending[first].attempt += 1
        if hasGap, !pending[first].isParked {
            pending[first].isAfterGap = true
            hasGap = false
        }
        return Lease(conversation: key, pending: pending[first])
    }
}

/// A task that waits for a lease.
struct LeaseWaiter: Sendable {
    let id: UInt64
    let continuation: CheckedContinuation<Lease?, Never>
}
