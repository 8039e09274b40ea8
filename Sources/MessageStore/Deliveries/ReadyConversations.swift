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
    /// A waiter, and the conversation whose delivery it gets; with a nil conversation, the waiter gets no
    /// delivery.
    struct Handover {
        let waiter: LeaseWaiter
        let conversation: ConversationKey?
        /// Whether the conversation's delivery is a suspect that runs alone.
        var isTrial = false
    }

    /// The reasons to pause all leases, such as failing writes.
    struct Holds: OptionSet, Sendable {
        static let journal = Holds(rawValue: 1)
        static let conversations = Holds(rawValue: 2)
        /// Deliveries that were leased when the last process crashed run first, one at a time.
        static let suspects = Holds(rawValue: 4)
        /// Messages that were recorded when the last process crashed are recorded first, one at a time.
        static let recording = Holds(rawValue: 8)
        let rawValue: UInt8
    }

    private struct Business {
        /// The number of unfinished deliveries of the business, without parked deliveries.
        var backlog = 0
        /// The time of the last finished delivery, in nanoseconds of a monotonic clock.
        var finishedAt: UInt64?
        var ready = Deque<ConversationKey>()
        /// The waiting tasks; the latest is resumed first, because its thread and memory are still in use.
        var waiters: [LeaseWaiter] = []
    }

    private var businesses: [BusinessID: Business] = [:]
    private var isClosed = false
    /// The current reasons to pause; while there are any, only suspects and probes are leased.
    private(set) var holds: Holds = []
    /// The state of the suspect that is leased while all other deliveries wait.
    enum Trial { case none, runs, waitsForHandler }

    private(set) var trial = Trial.none
    /// The number of suspects that have not run yet; `readySuspects` has the conversations of those that can
    /// run now.
    private(set) var suspectCount = 0
    private var readySuspects = Deque<ConversationKey>()
    /// The businesses that get the next probes, in order.
    private var probed = Deque<BusinessID>()

    /// How long after a finished delivery a business's handler counts as working, in nanoseconds.
    private let workingNanoseconds: UInt64

    /// Creates a value without conversations; a handler counts as working for `workingTime` after a finished
    /// delivery.
    init(workingTime: Duration = AnswerPace().workingTime) {
        workingNanoseconds = UInt64(max(0, workingTime.wholeNanoseconds))
    }

    /// Changes the number of unfinished deliveries of a business, after some were added, parked or ended.
    mutating func changeBacklog(of business: BusinessID, by count: Int) {
        businesses[business, default: Business()].backlog += count
    }

    /// Records the time of a finished delivery, and subtracts it from the business's backlog unless it was
    /// parked.
    mutating func recordFinish(of business: BusinessID, wasParked: Bool, at now: UInt64) {
        businesses[business]?.finishedAt = now
        if !wasParked { businesses[business]?.backlog -= 1 }
    }

    /// Returns the number of unfinished deliveries of a business, without parked ones.
    ///
    /// Returns 0 when no delivery was finished shortly before `now`, because then no handler is working.
    func backlog(of business: BusinessID, at now: UInt64) -> Int {
        guard let state = businesses[business], let finishedAt = state.finishedAt,
            finishedAt + workingNanoseconds > now
        else { return 0 }
        return state.backlog
    }

    /// Pauses all deliveries until this many suspects have run, each alone.
    mutating func holdForSuspects(_ count: Int) {
        guard count > 0 else { return }
        suspectCount = count
        holds.insert(.suspects)
    }

    /// Adds a conversation whose next delivery is a suspect; returns the handover that became possible, if
    /// any.
    mutating func addSuspect(_ key: ConversationKey) -> Handover? {
        guard holds.contains(.suspects) else { return add(key) }
        readySuspects.append(key)
        return nextSuspect()
    }

    /// Records whether the leased suspect waits for its handler; false when no suspect runs alone.
    mutating func setTrialWaiting(_ isWaiting: Bool) -> Bool {
        guard trial != .none else { return false }
        trial = isWaiting ? .waitsForHandler : .runs
        return true
    }

    /// Ends the lease of a suspect; returns whether it has run, and the handovers that became possible.
    ///
    /// A suspect that is released while it waits for its handler has not run: it runs alone later.
    mutating func endTrial(isFinished: Bool = false) -> (hasRun: Bool, handovers: [Handover]) {
        guard trial != .none else { return (true, []) }
        let hasRun = isFinished || trial == .runs
        trial = .none
        return (hasRun, hasRun ? removeSuspect() : nextSuspect().map { [$0] } ?? [])
    }

    /// Ends the turn of a suspect that was removed before its lease; returns the handovers that became
    /// possible.
    mutating func cancelTrial() -> [Handover] {
        trial = .none
        return nextSuspect().map { [$0] } ?? []
    }

    /// Subtracts a suspect that has run, or was removed without a lease; returns the handovers that became
    /// possible.
    mutating func removeSuspect() -> [Handover] {
        guard holds.contains(.suspects) else { return [] }
        suspectCount -= 1
        if suspectCount <= 0 { return releaseSuspects() }
        return nextSuspect().map { [$0] } ?? []
    }

    /// Resumes normal leases, although some suspects have not run because their handlers are not ready.
    mutating func releaseSuspects() -> [Handover] {
        trial = .none
        suspectCount = 0
        while let key = readySuspects.popFirst() {
            businesses[key.business, default: Business()].ready.append(key)
        }
        return release(.suspects)
    }

    private mutating func nextSuspect() -> Handover? {
        guard holds == .suspects, trial == .none, !isClosed else { return nil }
        for _ in 0..<readySuspects.count {
            guard let key = readySuspects.popFirst() else { return nil }
            if let waiter = businesses[key.business]?.waiters.popLast() {
                trial = .runs
                return Handover(waiter: waiter, conversation: key, isTrial: true)
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
        return Handover(waiter: waiter, conversation: key)
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
        if isClosed { return waiter.handover }
        if let key = next(of: business) { return Handover(waiter: waiter, conversation: key) }
        businesses[business, default: Business()].waiters.append(waiter)
        return nextSuspect()
    }

    /// Removes a waiter; returns the handover that ends its wait without a delivery, or nil when it no longer
    /// waits.
    mutating func cancel(_ waiter: UInt64, of business: BusinessID) -> Handover? {
        guard let index = businesses[business]?.waiters.firstIndex(where: { $0.id == waiter }) else {
            return nil
        }
        return businesses[business]?.waiters.remove(at: index).handover
    }

    /// Removes all waiters, and returns the handovers that end their waits; later waiters are not added.
    mutating func close() -> [Handover] {
        isClosed = true
        var handovers: [Handover] = []
        for business in businesses.keys {
            handovers += (businesses[business]?.waiters ?? []).map(\.handover)
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
        return Handover(waiter: waiter, conversation: key)
    }
}

/// A task that waits for a lease.
struct LeaseWaiter: Sendable {
    let id: UInt64
    let continuation: CheckedContinuation<Lease?, Never>

    /// The handover that ends the wait without a lease.
    var handover: ReadyConversations.Handover {
        ReadyConversations.Handover(waiter: self, conversation: nil)
    }
}
