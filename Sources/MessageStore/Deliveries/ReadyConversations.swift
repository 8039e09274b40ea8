import BalloonPOSIX
import BusinessMessages

/// The conversations that have a ready delivery, and the tasks that wait for a delivery, both by business.
///
/// Invariant: while leases are not paused, a business has ready conversations or waiting tasks, never both.
/// Within a business, conversations leave in the order in which they became ready. While leases are paused,
/// only two kinds of delivery are leased: a suspect of the last crash, which runs alone, and a probe, which
/// tests whether writes succeed.
///
/// A value without side effects: the caller leases the returned conversation and resumes the returned waiter.
/// Unlike ``FairQueue`` this type counts no slots: each business has a `BusinessWorker`, which limits the
/// business's concurrent deliveries.
struct ReadyConversations: Sendable {
    /// A wait that ends.
    enum Handover {
        /// The waiter gets the conversation's delivery; with `isTrial`, the delivery is a suspect that runs
        /// alone.
        case lease(ConversationKey, LeaseWaiter, isTrial: Bool = false)
        /// The waiter gets no delivery.
        case end(LeaseWaiter)
        /// A leased suspect continues, alone or beside other deliveries.
        case turn(SuspectTurn, isAlone: Bool)
    }

    /// A conversation with a ready delivery, and whether that delivery is a suspect of the last crash.
    struct Addition {
        let conversation: ConversationKey
        let isSuspect: Bool
    }

    /// The reasons to pause all leases, such as failing writes.
    struct Holds: OptionSet, Sendable {
        static let journal = Holds(rawValue: 1)
        static let conversations = Holds(rawValue: 2)
        /// Deliveries that were leased when the last process crashed run first, one at a time.
        static let suspects = Holds(rawValue: 4)
        /// Messages that were recorded when the last process crashed are recorded first, one at a time.
        static let recording = Holds(rawValue: 8)
        /// Another server may have taken the store.
        static let ownership = Holds(rawValue: 16)
        let rawValue: UInt8
    }

    private struct Business {
        var ready = Deque<ConversationKey>()
        /// The waiting tasks; the latest is resumed first, because its thread and memory are still in use.
        var waiters: [LeaseWaiter] = []
    }

    private var businesses: [BusinessID: Business] = [:]
    private var isClosed = false
    /// The current reasons to pause; while there are any, only suspects and probes are leased.
    private(set) var holds: Holds = []
    /// The suspect that runs while all other deliveries wait.
    private enum Trial: Equatable {
        case none
        /// A suspect was chosen, and is being leased.
        case begins
        /// The suspect with this record runs.
        case runs(UInt64)
    }

    private var trial = Trial.none
    /// The suspects that have not run yet and hold other deliveries back, each with its business.
    private var suspects: [UInt64: BusinessID] = [:]
    /// The conversations of the suspects that can be leased now.
    private var readySuspects = Deque<ConversationKey>()
    /// The leased suspects that can continue now.
    private var turns = Deque<SuspectTurn>()
    /// The businesses that get the next probes, in order.
    private var probed = Deque<BusinessID>()

    /// Pauses all deliveries until these suspects have run, each alone.
    mutating func holdForSuspects(_ suspects: [UInt64: BusinessID]) {
        guard !suspects.isEmpty else { return }
        self.suspects = suspects
        holds.insert(.suspects)
    }

    /// Adds a conversation with a ready delivery; returns the handovers that became possible.
    mutating func add(_ addition: Addition) -> [Handover] {
        guard addition.isSuspect, holds.contains(.suspects) else {
            return add(addition.conversation).map { [$0] } ?? []
        }
        readySuspects.append(addition.conversation)
        return advance()
    }

    /// Whether the delivery with this record is a suspect that runs while all other deliveries wait.
    func isAlone(_ record: UInt64) -> Bool { trial == .runs(record) }

    /// Records which suspect was leased to run alone; nil when the chosen one is gone.
    mutating func beginTrial(of record: UInt64?) -> [Handover] {
        trial = holds.contains(.suspects) ? record.map(Trial.runs) ?? .none : .none
        return advance()
    }

    /// Lets the next suspect run while the one with this record waits.
    ///
    /// A suspect that waits for something outside this process holds no other delivery back any more. Returns
    /// whether the suspect ran alone, and the handovers that became possible.
    mutating func suspend(_ record: UInt64, isOutside: Bool) -> (wasAlone: Bool, handovers: [Handover]) {
        guard holds.contains(.suspects) else { return (false, []) }
        let wasAlone = isAlone(record)
        if wasAlone { trial = .none }
        if isOutside { suspects[record] = nil }
        return (wasAlone, advance())
    }

    /// Lets a suspect whose wait is over continue, alone if other deliveries still wait.
    mutating func resume(_ turn: SuspectTurn) -> [Handover] {
        guard holds.contains(.suspects), !isClosed else { return [.turn(turn, isAlone: false)] }
        if isAlone(turn.record) { return [.turn(turn, isAlone: true)] }
        turns.append(turn)
        return advance()
    }

    /// Ends the lease of a suspect; returns whether it has run, and the handovers that became possible.
    ///
    /// A suspect that is released while it waits has not run: it runs alone later.
    mutating func endTrial(of record: UInt64) -> (hasRun: Bool, handovers: [Handover]) {
        guard holds.contains(.suspects) else { return (true, []) }
        return isAlone(record) ? (true, clear(record)) : (false, advance())
    }

    /// Removes a suspect that has run or has ended; returns the handovers that became possible.
    mutating func clear(_ record: UInt64) -> [Handover] {
        guard holds.contains(.suspects) else { return [] }
        if isAlone(record) { trial = .none }
        suspects[record] = nil
        let turn = turns.first { $0.record == record }
        _ = turns.remove { $0.record == record }
        return (turn.map { [.turn($0, isAlone: false)] } ?? []) + advance()
    }

    /// Lets no suspect of other businesses hold deliveries back; returns the handovers that became possible.
    mutating func keepSuspects(of isServed: (BusinessID) -> Bool) -> [Handover] {
        suspects = suspects.filter { isServed($0.value) }
        return advance()
    }

    /// Resumes normal leases, although some suspects have not run; returns the suspect that ran alone until
    /// now, and the handovers that became possible.
    mutating func releaseSuspects() -> (running: UInt64?, handovers: [Handover]) {
        guard holds.contains(.suspects) else { return (nil, []) }
        let running: UInt64? = if case .runs(let record) = trial { record } else { nil }
        trial = .none
        suspects = [:]
        return (running, advance())
    }

    /// Ends the pause when no suspect holds deliveries back and none runs; else lets the next suspect run.
    private mutating func advance() -> [Handover] {
        guard holds.contains(.suspects), trial == .none else { return [] }
        guard suspects.isEmpty else { return nextSuspect().map { [$0] } ?? [] }
        while let key = readySuspects.popFirst() {
            businesses[key.business, default: Business()].ready.append(key)
        }
        var handovers: [Handover] = []
        while let turn = turns.popFirst() { handovers.append(.turn(turn, isAlone: false)) }
        return handovers + release(.suspects)
    }

    private mutating func nextSuspect() -> Handover? {
        guard holds == .suspects, trial == .none, !isClosed else { return nil }
        if let turn = turns.popFirst() {
            trial = .runs(turn.record)
            return .turn(turn, isAlone: true)
        }
        for _ in 0..<readySuspects.count {
            guard let key = readySuspects.popFirst() else { return nil }
            if let waiter = businesses[key.business]?.waiters.popLast() {
                trial = .begins
                return .lease(key, waiter, isTrial: true)
            }
            readySuspects.append(key)
        }
        return nil
    }

    /// Adds a conversation with a ready delivery; returns the handover to a waiter, if one waits.
    mutating func add(_ key: ConversationKey) -> Handover? {
        guard holds.isEmpty, !isClosed, let waiter = businesses[key.business]?.waiters.popLast() else {
            businesses[key.business, default: Business()].ready.append(key)
            return nil
        }
        return .lease(key, waiter)
    }

    /// Removes the longest-ready conversation of a business; nil when none is ready or leases are paused.
    mutating func next(of business: BusinessID) -> ConversationKey? {
        guard !isClosed, holds.isEmpty else { return nil }
        return businesses[business]?.ready.popFirst()
    }

    /// Removes the longest-ready conversation of a business for this waiter; adds the waiter when none is
    /// ready.
    ///
    /// Returns the handover that became possible, if any.
    mutating func next(of business: BusinessID, or waiter: LeaseWaiter) -> Handover? {
        if isClosed { return .end(waiter) }
        if let key = next(of: business) { return .lease(key, waiter) }
        businesses[business, default: Business()].waiters.append(waiter)
        return nextSuspect()
    }

    /// Removes a waiter; returns the handover that ends its wait without a delivery, or nil when it no longer
    /// waits.
    mutating func cancel(_ waiter: UInt64, of business: BusinessID) -> Handover? {
        guard let index = businesses[business]?.waiters.firstIndex(where: { $0.id == waiter }) else {
            return nil
        }
        return (businesses[business]?.waiters.remove(at: index)).map(Handover.end)
    }

    /// Removes all waiters, and returns the handovers that end their waits; later waiters are not added.
    mutating func close() -> [Handover] {
        isClosed = true
        var handovers: [Handover] = []
        while let turn = turns.popFirst() { handovers.append(.turn(turn, isAlone: false)) }
        for business in businesses.keys {
            handovers += (businesses[business]?.waiters ?? []).map(Handover.end)
            businesses[business]?.waiters = []
        }
        return handovers
    }

    /// Adds a reason to pause all leases; returns false when a failed write already paused them.
    mutating func hold(_ reason: Holds) -> Bool {
        defer { holds.formUnion(reason) }
        return holds.subtracting([.suspects, .recording]).isEmpty
    }

    /// Removes a reason to pause all leases; returns the handovers that became possible.
    mutating func release(_ reason: Holds) -> [Handover] {
        guard !holds.isEmpty, holds.subtracting(reason).isEmpty else {
            holds.subtract(reason)
            return nextSuspect().map { [$0] } ?? []
        }
        holds = []
        var handovers: [Handover] = []
        for business in businesses.keys {
            while let handover = pair(business) { handovers.append(handover) }
        }
        return handovers
    }

    /// Chooses one delivery to test whether conversations can be written; the businesses take turns.
    ///
    /// Returns nil when no delivery can be leased, or when leases are also paused for another reason.
    mutating func probe() -> Handover? {
        guard holds == .conversations else { return nil }
        if probed.isEmpty { for business in businesses.keys { probed.append(business) } }
        while let business = probed.popFirst() {
            if let handover = pair(business) { return handover }
        }
        return nil
    }

    /// Pairs the latest waiter of a business with the longest-ready conversation.
    private mutating func pair(_ business: BusinessID) -> Handover? {
        guard let state = businesses[business], !state.ready.isEmpty, let waiter = state.waiters.last,
            let key = businesses[business]?.ready.popFirst()
        else { return nil }
        businesses[business]?.waiters.removeLast()
        return .lease(key, waiter)
    }
}

/// A task that waits for a lease.
struct LeaseWaiter: Sendable {
    let id: UInt64
    let continuation: CheckedContinuation<Lease?, Never>
}

/// A leased suspect of a crash whose wait is over, and which waits for its turn to run.
struct SuspectTurn: Sendable {
    let record: UInt64
    /// Gets whether the suspect runs alone.
    let continuation: CheckedContinuation<Bool, Never>
}
