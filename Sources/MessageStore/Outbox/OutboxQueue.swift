import BalloonPOSIX
import BusinessMessages

/// The queued replies in their sending order, and where the journal has their texts; it has no side effects.
///
/// ```
///   turns      A  B  C                      businesses with a reply that can be sent now
///               │
///   ready      A1 A2                        their conversations, the longest waiting first
///               │
///   entries    r1 → r2 → r3                 replies of a conversation, as decided; only r1 can be leased
/// ```
///
/// A postponed reply stays first in its conversation. The conversation is not in `ready` until the reply is
/// due. So does a reply with a ``Pause``, which begins when the reply would be leased for the first time. Each
/// operation takes O(1) or O(log n), independent of the number of conversations.
struct OutboxQueue: Sendable {
    /// One queued reply.
    struct Entry: Sendable {
        let id: ReplyID
        let conversation: ConversationKey
        let decidedAt: Timestamp
        /// Whether the entry is an indicator that shows that somebody types.
        let isTyping: Bool
        let place: ReplyText.Place
        /// The reply's text, if it is cached.
        var text: ReplyText?
        /// Whether an earlier process queued the reply.
        var isRecovered = false
        /// The identity of a proactive message; nil for a reply.
        var key: MessageKey?
        /// The SHA-256 of the request that brought a proactive message to this process; nil without one.
        var requestDigest: String?
        /// Whether the reply answers the failure of another reply.
        var answersFailure = false
        /// The number of failed attempts.
        var attempts = 0
        /// How often the reply was sent to the gateway, also when the answer was about the credential.
        var posts = 0
        /// The earliest time of the next attempt, of ``SteadyClock``; nil means now.
        var due: Timestamp?
        /// The earliest time at which a probe may lease this entry; nil means `due`.
        var notBefore: Timestamp?
        /// The pause before the first attempt; nil without one, and once it has begun.
        var pause: Pause?
        /// Whether `due` is the end of a pause.
        var isPausing = false
        /// The reply's end, once it is in the journal.
        var end: End?
    }

    /// The end of a reply whose line the conversation's file may still lack.
    struct End: Sendable {
        let result: ReplyResult
        let at: Timestamp
        /// The number of the reply's line in ``UnwrittenLines``.
        let line: UInt64
        /// The record of the end, if the handler gets that as an event once the line is written.
        var report: JournalledRecord?
    }

    /// The time for which the customer sees that somebody types, before a reply is sent.
    ///
    /// It counts from the decision, or from the end of the conversation's previous reply if that is later. The
    /// times are those of ``SteadyClock``.
    struct Pause: Hashable, Sendable {
        let length: Duration
        let decidedAt: Timestamp
        /// The time at which the pause ends in any case; nil for none.
        var end: Timestamp?
    }

    private struct Node: Sendable {
        var entry: Entry
        var isLeased = false
        /// Whether `decisions` lacks the entry, because it was leased or held when its lifetime ended.
        var isUnwatched = false
        var previous: ReplyID?
        var next: ReplyID?
    }

    /// A conversation with entries.
    private struct Line: Sendable {
        enum Phase { case ready, waiting, leased, held }

        var first: ReplyID
        var last: ReplyID
        var phase: Phase
        /// The end of the reply that was first before.
        var endedAt: Timestamp?
        /// Whether the customer closed the conversation and has not written since; nil when only its file says it.
        var isClosed: Bool?
    }

    private struct Business: Sendable {
        /// The queued and leased replies.
        var backlog = Backlog()
        var inFlight = 0
        var isInTurn = false
        /// The ready conversations in order; one that is no longer ready is skipped when it is first.
        var ready = Deque<ConversationKey>()
    }

    /// A time at which an entry must be checked; it is skipped when it no longer fits the entry.
    private struct Alarm: Comparable, Sendable {
        let at: Timestamp
        let id: ReplyID

        static func < (left: Alarm, right: Alarm) -> Bool { (left.at, left.id) < (right.at, right.id) }
    }

    private let maximumInFlight: Int
    private let maximumInFlightPerBusiness: Int
    private var nodes: [ReplyID: Node] = [:]
    private var lines: [ConversationKey: Line] = [:]
    private var businesses: [BusinessID: Business] = [:]
    private var turns = Deque<BusinessID>()
    private var dues = MinimumHeap<Alarm>()
    private var decisions = MinimumHeap<Alarm>()
    /// The pauses that began since ``takeBegunPauses()``.
    private var begunPauses: [ReplyPause] = []
    /// When the handler's own indicator was sent in conversations without a later reply, of ``SteadyClock``.
    private var typedAt: [ConversationKey: Timestamp] = [:]
    /// The conversations whose replies are not sent until `releaseHeld` is called.
    private var held: Set<ConversationKey> = []

    /// The number of leased replies.
    private(set) var inFlight = 0

    init(maximumInFlight: Int = 256, maximumInFlightPerBusiness: Int = 64) {
        self.maximumInFlight = maximumInFlight
        self.maximumInFlightPerBusiness = maximumInFlightPerBusiness
    }

    /// The number of queued or leased replies.
    var count: Int { nodes.count }

    /// The queued and leased replies of a business, with the time given to the last ``settle(_:at:)``.
    func backlog(of business: BusinessID) -> Backlog { businesses[business]?.backlog ?? Backlog() }

    /// The number of queued or leased replies of each business.
    var countsByBusiness: [BusinessID: Int] { businesses.mapValues(\.backlog.count) }

    /// All entries, in no order.
    var all: [Entry] { nodes.values.map(\.entry) }

    /// The entry with this identity.
    func entry(_ id: ReplyID) -> Entry? { nodes[id]?.entry }

    /// Whether the customer closed a conversation with entries; nil when only the conversation's file says it.
    func isClosed(_ conversation: ConversationKey) -> Bool? { lines[conversation]?.isClosed }

    /// Sets whether the customer closed a conversation; does nothing for one without entries.
    mutating func setClosed(_ isClosed: Bool?, _ conversation: ConversationKey) {
        lines[conversation]?.isClosed = isClosed
    }

    /// Sets the end of an entry, which stays until its settlement; false when the identity is unknown.
    mutating func recordEnd(_ id: ReplyID, _ end: End) -> Bool {
        nodes[id]?.entry.end = end
        return nodes[id] != nil
    }

    /// Returns whether the entry is leased.
    func isLeased(_ id: ReplyID) -> Bool { nodes[id]?.isLeased ?? false }

    /// A conversation's first entries in order.
    func entries(of conversation: ConversationKey, maximum: Int = .max) -> [Entry] {
        var entries: [Entry] = []
        var next = lines[conversation]?.first
        while entries.count < maximum, let id = next, let node = nodes[id] {
            entries.append(node.entry)
            next = node.next
        }
        return entries
    }

    /// Prevents the replies of these conversations from being leased in order until ``releaseHeld()``; lists
    /// still have them.
    ///
    /// Must be called before the first of these replies is added.
    mutating func hold(_ conversations: Set<ConversationKey>) { held = conversations }

    /// Returns whether `hold` stopped the replies of a conversation.
    func holds(_ conversation: ConversationKey) -> Bool { !held.isEmpty && held.contains(conversation) }

    /// Allows leasing the replies that `hold` stopped.
    mutating func releaseHeld() {
        let conversations = held
        held = []
        for key in conversations {
            for entry in entries(of: key) where nodes[entry.id]?.isUnwatched == true && !isLeased(entry.id) {
                nodes[entry.id]?.isUnwatched = false
                decisions.insert(Alarm(at: entry.decidedAt, id: entry.id))
            }
            advance(key)
        }
    }

    /// Adds an entry after the others of its conversation; ignores an entry that is already queued.
    mutating func add(_ entry: Entry) {
        let (id, key) = (entry.id, entry.conversation)
        guard nodes[id] == nil else { return }
        var entry = entry
        // The handler's own indicator already announces the reply behind it.
        if isTyping(in: key, at: entry.pause?.decidedAt) { entry.pause = nil }
        nodes[id] = Node(entry: entry, previous: lines[key]?.last)
        if let last = lines[key]?.last {
            nodes[last]?.next = id
            lines[key]?.last = id
        }
        businesses[key.business, default: Business()].backlog.count += 1
        decisions.insert(Alarm(at: entry.decidedAt, id: id))
        if lines[key] == nil {
            lines[key] = Line(first: id, last: id, phase: .leased)
            advance(key)
        }
    }

    /// Whether the last entry of a conversation is an indicator, or one was sent lately.
    private func isTyping(in key: ConversationKey, at now: Timestamp?) -> Bool {
        if let last = lines[key]?.last { return nodes[last]?.entry.isTyping == true }
        guard let now, let typedAt = typedAt[key] else { return false }
        return now < typedAt.advanced(by: Self.shownTime)
    }

    /// Remembers an indicator until the next reply; when there are too many, those that are over are forgotten, or all.
    private mutating func recordEnd(of entry: Entry, at now: Timestamp?) {
        guard entry.isTyping, let now else {
            typedAt[entry.conversation] = nil
            return
        }
        if typedAt.count >= Self.maximumTyped {
            typedAt = typedAt.filter { now < $0.value.advanced(by: Self.shownTime) }
            if typedAt.count >= Self.maximumTyped { typedAt = [:] }
        }
        typedAt[entry.conversation] = now
    }

    /// For how long a device shows an indicator; this project's figure, as for persons.
    private static let shownTime = Duration.seconds(30)
    private static let maximumTyped = 1024

    /// Leases the first entry of a conversation that `selection` allows; nil when none can be sent now.
    ///
    /// An entry with a pause begins its pause instead, unless the entry is a probe.
    mutating func lease(_ selection: OutboxSelection, at now: Timestamp) -> Entry? {
        promote(at: now)
        while let key = next(selection, at: now), let id = lines[key]?.first {
            if case .any = selection, beginPause(of: id, in: key, at: now) { continue }
            nodes[id]?.entry.pause = nil
            nodes[id]?.entry.isPausing = false
            lines[key]?.phase = .leased
            return lease(id)
        }
        return nil
    }

    private mutating func next(_ selection: OutboxSelection, at now: Timestamp) -> ConversationKey? {
        switch selection {
        case .any(let excluded): inFlight < maximumInFlight ? nextInTurn { !excluded.contains($0) } : nil
        case .probe(.some(let business)): nextReady(of: business) ?? nextPostponed(of: business, at: now)
        case .probe(nil): nextInTurn { _ in true } ?? nextPostponed(of: nil, at: now)
        }
    }

    /// Begins the pause of a conversation's first entry; false when it has none, or the pause is already over.
    private mutating func beginPause(of id: ReplyID, in key: ConversationKey, at now: Timestamp) -> Bool {
        guard let pause = nodes[id]?.entry.pause else { return false }
        let begin = max(pause.decidedAt, lines[key]?.endedAt ?? pause.decidedAt)
        let due = min(begin.advanced(by: pause.length), pause.end ?? now.advanced(by: pause.length))
        guard due > now else { return false }
        nodes[id]?.entry.pause = nil
        nodes[id]?.entry.due = due
        nodes[id]?.entry.isPausing = true
        lines[key]?.phase = .waiting
        dues.insert(Alarm(at: due, id: id))
        begunPauses.append(ReplyPause(business: key.business, customer: key.customer, due: due))
        enterTurn(key.business)
        return true
    }

    /// Returns the pauses that began since the last call.
    mutating func takeBegunPauses() -> [ReplyPause] {
        defer { begunPauses = [] }
        return begunPauses
    }

    /// Ends the pause of a conversation, and removes those of its later entries.
    mutating func endPauses(of conversation: ConversationKey) {
        for entry in entries(of: conversation) { nodes[entry.id]?.entry.pause = nil }
        guard let line = lines[conversation], line.phase == .waiting,
            nodes[line.first]?.entry.isPausing == true
        else { return }
        nodes[line.first]?.entry.due = nil
        nodes[line.first]?.entry.isPausing = false
        advance(conversation)
    }

    /// Leases the entry with this identity at any position; nil when it is leased or removed.
    mutating func lease(id: ReplyID) -> Entry? {
        guard let node = nodes[id], !node.isLeased else { return nil }
        let entry = lease(id)
        advance(node.entry.conversation)
        return entry
    }

    /// Leases an entry that was decided longer than `lifetime` ago; call it until it returns nil.
    ///
    /// An entry that is leased then is returned by a later call, if its attempt fails.
    mutating func leaseExpired(at now: Timestamp, after lifetime: Duration) -> Entry? {
        while let oldest = decisions.first, oldest.at.advanced(by: lifetime) <= now {
            _ = decisions.popFirst()
            // A leased entry is added to `decisions` again when its lease ends without a settlement.
            guard let node = nodes[oldest.id] else { continue }
            nodes[oldest.id]?.isUnwatched = true
            if node.isLeased || holds(node.entry.conversation) { continue }
            let entry = lease(oldest.id)
            advance(node.entry.conversation)
            return entry
        }
        return nil
    }

    /// Ends a lease after a failed attempt; the entry stays first in its conversation, and is due at `due`.
    ///
    /// Nil means that it is due now. Only a probe may lease it earlier, from `notBefore` on.
    mutating func postpone(_ id: ReplyID, until due: Timestamp?, notBefore: Timestamp? = nil) {
        guard nodes[id]?.isLeased == true else { return }
        nodes[id]?.entry.attempts += 1
        nodes[id]?.entry.due = due
        nodes[id]?.entry.notBefore = notBefore
        release(id)
    }

    /// How often an entry was tried: the requests to the gateway, or the failed attempts if they are more.
    func tries(_ id: ReplyID) -> Int { nodes[id].map { max($0.entry.posts, $0.entry.attempts) } ?? 0 }

    /// Counts a request to the gateway.
    mutating func countPost(_ id: ReplyID) {
        let posts = tries(id) + 1
        nodes[id]?.entry.posts = posts
    }

    /// Ends a lease without counting an attempt; the entry keeps its position and can be leased again.
    mutating func release(_ id: ReplyID) {
        guard let node = nodes[id], node.isLeased else { return }
        endLease(id)
        if node.isUnwatched {
            nodes[id]?.isUnwatched = false
            decisions.insert(Alarm(at: node.entry.decidedAt, id: id))
        }
        advance(node.entry.conversation)
    }

    /// Removes an entry, leased or not, and returns it; nil when the identity is unknown.
    ///
    /// The conversation's next entry can then be leased. `now`, in nanoseconds of a monotonic clock, is kept as the end of the
    /// business's last reply; `steady` is the same time of ``SteadyClock``.
    mutating func settle(_ id: ReplyID, at now: UInt64? = nil, steady: Timestamp? = nil) -> Entry? {
        guard let node = nodes[id] else { return nil }
        let key = node.entry.conversation
        if node.isLeased { endLease(id) }
        nodes[id] = nil
        nodes.shrink()
        unlink(node, id)
        recordEnd(of: node.entry, at: steady)
        businesses[key.business]?.backlog.count -= 1
        if let now { businesses[key.business]?.backlog.endedAt = now }
        if node.previous == nil, lines[key] != nil {
            lines[key]?.endedAt = steady
            advance(key)
        }
        removeStale(in: key.business)
        return node.entry
    }

    private mutating func lease(_ id: ReplyID) -> Entry? {
        guard let entry = nodes[id]?.entry else { return nil }
        nodes[id]?.isLeased = true
        inFlight += 1
        businesses[entry.conversation.business]?.inFlight += 1
        return entry
    }

    private mutating func endLease(_ id: ReplyID) {
        guard let business = nodes[id]?.entry.conversation.business else { return }
        nodes[id]?.isLeased = false
        inFlight -= 1
        businesses[business]?.inFlight -= 1
        enterTurn(business)
    }

    private mutating func unlink(_ node: Node, _ id: ReplyID) {
        let key = node.entry.conversation
        if let previous = node.previous { nodes[previous]?.next = node.next }
        if let next = node.next { nodes[next]?.previous = node.previous }
        switch (node.previous, node.next) {
        case (nil, nil): lines[key] = nil
        case (nil, .some(let next)): lines[key]?.first = next
        case (.some(let previous), nil): lines[key]?.last = previous
        case (.some, .some): break
        }
    }

    /// Sets the phase of a conversation after its first entry has changed.
    private mutating func advance(_ key: ConversationKey) {
        guard let line = lines[key], let first = nodes[line.first] else { return }
        if first.isLeased {
            lines[key]?.phase = .leased
        } else if holds(key) {
            lines[key]?.phase = .held
        } else if let due = first.entry.due {
            lines[key]?.phase = .waiting
            dues.insert(Alarm(at: due, id: line.first))
        } else if line.phase != .ready {
            makeReady(key)
        }
    }

    /// Makes each conversation ready whose first entry is due.
    private mutating func promote(at now: Timestamp) {
        while let alarm = dues.first {
            let isWaiting = isWaiting(alarm)
            guard !isWaiting || alarm.at <= now else { return }
            _ = dues.popFirst()
            guard isWaiting, let key = nodes[alarm.id]?.entry.conversation else { continue }
            nodes[alarm.id]?.entry.due = nil
            makeReady(key)
        }
    }

    private func isWaiting(_ alarm: Alarm) -> Bool {
        guard let entry = nodes[alarm.id]?.entry, let line = lines[entry.conversation] else { return false }
        return line.phase == .waiting && line.first == alarm.id && entry.due == alarm.at
    }

    private mutating func makeReady(_ key: ConversationKey) {
        lines[key]?.phase = .ready
        businesses[key.business]?.ready.append(key)
        enterTurn(key.business)
    }

    /// Adds a business to the turns while it has a ready conversation and is below its limit in flight.
    private mutating func enterTurn(_ id: BusinessID) {
        guard let business = businesses[id], !business.isInTurn, !business.ready.isEmpty,
            business.inFlight < maximumInFlightPerBusiness
        else { return }
        businesses[id]?.isInTurn = true
        turns.append(id)
    }

    /// Returns the next ready conversation, from the first business in the turns that `isWanted` accepts.
    private mutating func nextInTurn(_ isWanted: (BusinessID) -> Bool) -> ConversationKey? {
        // Check each business once: a business that is not wanted moves to the end.
        for _ in 0..<turns.count {
            guard let id = turns.popFirst() else { return nil }
            guard isWanted(id) else {
                turns.append(id)
                continue
            }
            businesses[id]?.isInTurn = false
            let key = nextReady(of: id)
            defer { reenterTurn(id, leasing: key != nil) }
            if let key { return key }
        }
        return nil
    }

    /// Returns the conversation whose postponed reply is due first, of those that a probe may lease now.
    private mutating func nextPostponed(of business: BusinessID?, at now: Timestamp) -> ConversationKey? {
        var skipped: [Alarm] = []
        defer { for alarm in skipped { dues.insert(alarm) } }
        while skipped.count < Self.maximumSkipped, let alarm = dues.popFirst() {
            guard isWaiting(alarm), let entry = nodes[alarm.id]?.entry else { continue }
            let isWanted = business == nil || entry.conversation.business == business
            guard isWanted, entry.notBefore ?? alarm.at <= now else {
                skipped.append(alarm)
                continue
            }
            nodes[alarm.id]?.entry.due = nil
            return entry.conversation
        }
        return nil
    }

    /// The maximum number of postponed replies that the search for a probe skips.
    private static let maximumSkipped = 256

    /// Adds a business to the turns again, or removes it when it has no entries.
    ///
    /// With `leasing`, a reply of the business is about to be leased, and already counts for the limit.
    private mutating func reenterTurn(_ id: BusinessID, leasing: Bool) {
        guard let business = businesses[id] else { return }
        if business.backlog.count == 0 {
            businesses[id] = nil
        } else if !leasing || business.inFlight + 1 < maximumInFlightPerBusiness {
            enterTurn(id)
        }
    }

    /// Removes and returns the business's conversation that has been ready for the longest time.
    private mutating func nextReady(of id: BusinessID) -> ConversationKey? {
        while let key = businesses[id]?.ready.popFirst() {
            if lines[key]?.phase == .ready { return key }
        }
        return nil
    }

    /// Removes outdated elements from each list that has more elements than twice its entries plus 64.
    private mutating func removeStale(in id: BusinessID) {
        let maximum = 2 * nodes.count + 64
        if decisions.count > maximum {
            let nodes = nodes
            decisions.filter { nodes[$0.id] != nil }
        }
        if dues.count > maximum {
            let queue = self
            dues.filter { queue.isWaiting($0) }
        }
        guard let business = businesses[id] else { return }
        if business.backlog.count == 0, !business.isInTurn {
            businesses[id] = nil
        } else if business.ready.count > 2 * business.backlog.count + 64 {
            var ready = Deque<ConversationKey>()
            var known: Set<ConversationKey> = []
            for key in business.ready where lines[key]?.phase == .ready && known.insert(key).inserted {
                ready.append(key)
            }
            businesses[id]?.ready = ready
        }
    }
}
