import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// The decided replies that have not ended, in memory: their order, and where the journal has their texts.
///
/// ```
///   outcome durable ──add──> queue ──lease──> sender ──settle──> reply record ──> conversation line
///                              ^                 │
///                              └────postpone─────┘   (replyAttempt record)
/// ```
final class Outbox: Sendable {
    /// The data of a queued reply besides its place in the queue.
    struct Item: Sendable {
        let place: ReplyText.Place
        /// The reply's text, if it is cached.
        var text: ReplyText?
        let isRecovered: Bool
        /// The identity of a proactive message; nil for a reply.
        var key: MessageKey?
        /// The SHA-256 of the request that brought a proactive message to this process; nil without one.
        var requestDigest: String?
        /// Whether the reply answers the failure of another reply.
        var answersFailure = false
        /// The reply's end, once it is in the journal; the conversation's file may still lack its line.
        var end: (result: ReplyResult, at: Timestamp)?
        /// The number of the reply's line in ``UnwrittenLines``; nil before the end is in the journal.
        var line: UInt64?
        /// The record of the reply's end, if the handler gets that as an event once the line is written.
        var report: JournalledRecord?
    }

    /// A reply leased for an attempt.
    struct Lease: Sendable {
        let entry: OutboxQueue.Entry
        let item: Item
    }

    fileprivate struct State {
        var queue = OutboxQueue()
        var items: [ReplyID: Item] = [:]
        /// The proactive messages in `items`, by their identities.
        var messages: [MessageKey: ReplyID] = [:]
        /// For each conversation with queued replies, whether the customer closed it.
        var closures: [ConversationKey: OutboxEntry.Closure] = [:]
        /// The number of replies with unreadable records.
        ///
        /// Such a reply, and the later ones of its conversation, are not sent before a restart.
        var unreadable = 0
        var textBytes = 0
        /// Computes the pause before a reply of a business; nil for no pause.
        var pause: @Sendable (BusinessID, DecidedReply) -> Duration? = { _, _ in nil }
        var isClosed = false
    }

    private let state = Mutex(State())
    private let total = Atomic(0)
    private let timers = DispatchQueue(label: "balloon.outbox")
    private let wake: AsyncStream<Void>.Continuation
    private let typing: AsyncStream<ReplyPause>.Continuation
    /// Yields each pause that begins; the oldest are dropped when they are not read.
    let begunPauses: AsyncStream<ReplyPause>
    /// Yields a value whenever a reply may have become available.
    let wakeups: AsyncStream<Void>
    /// The maximum bytes of cached texts.
    private static let maximumTextBytes = 16 << 20

    init() {
        (wakeups, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (begunPauses, typing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(4096))
    }

    /// Sets the rule for the pauses before replies; without one there are none.
    func setPauses(_ length: @escaping @Sendable (BusinessID, DecidedReply) -> Duration?) {
        state.withLock { $0.pause = length }
    }

    /// Returns the pause before a reply that was decided now; `end` ends it in any case.
    func pause(
        before reply: DecidedReply, of business: BusinessID, end: Timestamp? = nil
    ) -> OutboxQueue.Pause? {
        if reply.kind.isTyping { return nil }
        return state.withLock(\.pause)(business, reply).map {
            OutboxQueue.Pause(length: $0, decidedAt: SteadyClock.now(), end: end)
        }
    }

    /// Ends the pauses of a conversation, because a person writes in it.
    func endPauses(of conversation: ConversationKey) {
        if count == 0 { return }
        state.withLock { $0.queue.endPauses(of: conversation) }
        wake.yield()
    }

    /// The number of replies that have not ended.
    var count: Int { total.load(ordering: .relaxed) }

    /// The number of replies of a business that have not ended.
    func count(of business: BusinessID) -> Int {
        count == 0 ? 0 : state.withLock { $0.queue.backlog(of: business).count }
    }

    /// Returns whether a reply has not ended.
    func isQueued(_ id: ReplyID) -> Bool { state.withLock { $0.items[id] != nil } }

    /// The number of unreadable replies.
    var unreadableCount: Int { state.withLock { $0.unreadable } }

    /// Lets the sender look for replies.
    func wakeSender() { wake.yield() }

    /// Stops sending the replies of these conversations until ``releaseHeld()``; lists still have them.
    func hold(_ conversations: Set<ConversationKey>) { state.withLock { $0.queue.hold(conversations) } }

    /// Returns whether `hold` stopped the sending of a conversation's replies.
    func holds(_ conversation: ConversationKey) -> Bool {
        state.withLock { $0.queue.holds(conversation) }
    }

    /// Allows sending the replies that `hold` stopped.
    func releaseHeld() {
        state.withLock { $0.queue.releaseHeld() }
        wake.yield()
    }

    /// Adds replies of one conversation after those that it already has in the queue.
    func add(_ entries: [(entry: OutboxQueue.Entry, item: Item)], closure: OutboxEntry.Closure) {
        guard let first = entries.first else { return }
        total.add(entries.count, ordering: .relaxed)
        state.withLock { state in
            for (entry, item) in entries {
                state.queue.add(entry)
                state.items[entry.id] = state.bounded(item, maximumBytes: Self.maximumTextBytes)
                if let key = item.key { state.messages[key] = entry.id }
            }
            state.closures[first.entry.conversation] = closure
        }
        wakeSender(at: first.entry.due)
    }

    /// Records which conversations the customers' messages closed or opened.
    ///
    /// Returns the backlog of replies of each message's business, in the same order; nil when no reply is queued.
    func record(_ messages: [MessageStore.Lease]) -> [Backlog]? {
        if count == 0 { return nil }
        return state.withLock { state in
            messages.map { message in
                let (act, conversation) = (message.pending.act, message.conversation)
                if act.opensOrCloses, state.closures[conversation] != nil {
                    state.closures[conversation] = act == .closes ? .closed : .open
                }
                return state.queue.backlog(of: conversation.business)
            }
        }
    }

    /// Whether the customer closed a conversation with queued replies.
    func closure(of conversation: ConversationKey) -> OutboxEntry.Closure {
        state.withLock { $0.closures[conversation] ?? .unknown }
    }

    /// Leases the next reply that `selection` allows.
    ///
    /// A conversation whose pause begins meanwhile is yielded by ``begunPauses``, unless it is closed.
    func lease(_ selection: OutboxSelection, at now: Timestamp) -> Lease? {
        let (lease, starts) = state.withLock { state -> (Lease?, [(start: ReplyPause, isClosed: Bool)]) in
            guard !state.isClosed else { return (nil, []) }
            let entry = state.queue.lease(selection, at: now)
            let starts = state.queue.takeBegunPauses().map {
                ($0, state.closures[$0.conversation] == .closed)
            }
            return (entry.flatMap { state.leased($0) }, starts)
        }
        for (start, isClosed) in starts {
            if !isClosed { typing.yield(start) }
            wakeSender(at: start.due)
        }
        return lease
    }

    /// Leases a reply that was decided longer than `lifetime` ago.
    func leaseExpired(at now: Timestamp, after lifetime: Duration) -> Lease? {
        state.withLock { state -> Lease? in
            guard !state.isClosed, let entry = state.queue.leaseExpired(at: now, after: lifetime) else {
                return nil
            }
            return state.leased(entry)
        }
    }

    /// Leases the reply with this identity; nil when it is not queued or is leased.
    func lease(_ id: ReplyID) -> Lease? {
        state.withLock { state -> Lease? in
            guard !state.isClosed, let entry = state.queue.lease(id: id) else { return nil }
            return state.leased(entry)
        }
    }

    /// The data of a queued reply; nil when it has ended.
    func item(_ id: ReplyID) -> Item? { state.withLock { $0.items[id] } }

    /// Returns the record of a queued proactive message; nil when the message is not queued.
    func record(of key: MessageKey) -> UInt64? {
        if count == 0 { return nil }
        return state.withLock { $0.messages[key]?.record }
    }

    /// Returns the conversation of a reply, and its end if it has ended; nil once its line is written.
    func progress(of id: ReplyID) -> (conversation: ConversationKey, result: ReplyResult?)? {
        state.withLock { state in
            state.queue.entry(id).map { ($0.conversation, state.items[id]?.end?.result) }
        }
    }

    /// Records that a reply's end is in the journal, as `ended` says; returns false when the reply is not queued any more.
    func recordEnd(_ id: ReplyID, _ ended: Item) -> Bool {
        state.withLock { state in
            guard state.items[id] != nil else { return false }
            state.items[id]?.end = ended.end
            state.items[id]?.line = ended.line
            state.items[id]?.report = ended.report
            return true
        }
    }

    /// Removes a reply whose end is in the journal and whose line is written.
    func settle(_ id: ReplyID) {
        let isKnown = state.withLock { state in
            guard
                let entry = state.queue.settle(
                    id, at: SystemClock.nanoseconds(), steady: SteadyClock.now())
            else { return false }
            if let item = state.items.removeValue(forKey: id) {
                state.items.shrink()
                state.textBytes -= item.textBytes
                if let key = item.key, state.messages[key] == id { state.messages[key] = nil }
            }
            if state.queue.entries(of: entry.conversation, maximum: 1).isEmpty {
                state.closures[entry.conversation] = nil
            }
            return true
        }
        guard isKnown else { return }
        total.subtract(1, ordering: .relaxed)
        wake.yield()
    }

    /// Ends a lease after a failed attempt; the reply can be leased again at `due`.
    ///
    /// A probe of the gateway can lease it earlier, from `notBefore` on.
    func postpone(_ id: ReplyID, until due: Timestamp, notBefore: Timestamp? = nil) {
        state.withLock { $0.queue.postpone(id, until: due, notBefore: notBefore) }
        // Wake the sender, because the limit of replies in flight now has room for another reply.
        wake.yield()
        wakeSender(at: due)
    }

    /// Counts a request to the gateway for a leased reply.
    func countPost(_ id: ReplyID) { state.withLock { _ = $0.queue.countPost(id) } }

    /// How often a reply was tried: the requests to the gateway, or the failed attempts if they are more.
    func tries(_ id: ReplyID) -> Int { state.withLock { $0.queue.tries(id) } }

    /// Ends a lease without an attempt.
    func release(_ id: ReplyID) {
        state.withLock { $0.queue.release(id) }
        wake.yield()
    }

    /// Counts a leased reply as unreadable; it stays leased, and its conversation blocked, until a restart.
    func markUnreadable() { state.withLock { $0.unreadable += 1 } }

    /// Returns the queued replies of a conversation, in the order in which they are sent.
    func queued(of conversation: ConversationKey, maximum: Int) -> [(OutboxQueue.Entry, Item)] {
        guard count > 0 else { return [] }
        return state.withLock { state in
            state.queue.entries(of: conversation, maximum: maximum).compactMap { entry in
                state.items[entry.id].map { (entry, $0) }
            }
        }
    }

    /// All queued replies.
    var all: [OutboxQueue.Entry] { state.withLock { $0.queue.all } }

    /// The number of unfinished replies of each business.
    var countsByBusiness: [BusinessID: Int] { state.withLock { $0.queue.countsByBusiness } }

    /// Stops leasing, and ends `wakeups`.
    func close() {
        state.withLock { $0.isClosed = true }
        wake.finish()
        typing.finish()
    }

    /// Wakes the sender at `due`, which is a time of ``SteadyClock``; without it, at once.
    func wakeSender(at due: Timestamp?) {
        guard let due else {
            wake.yield()
            return
        }
        let pause = remaining(until: due, from: SteadyClock.now())
        timers.asyncAfter(deadline: .now() + pause.dispatchInterval) { [wake] in wake.yield() }
    }
}

extension Outbox.State {
    fileprivate func leased(_ entry: OutboxQueue.Entry) -> Outbox.Lease? {
        items[entry.id].map {
            Outbox.Lease(entry: entry, item: $0)
        }
    }

    /// Returns the item, without its text when the cache of texts is full.
    fileprivate mutating func bounded(_ item: Outbox.Item, maximumBytes: Int) -> Outbox.Item {
        var item = item
        if textBytes + item.textBytes > maximumBytes { item.text = nil }
        textBytes += item.textBytes
        return item
    }
}

extension Outbox.Item {
    fileprivate var textBytes: Int { text?.reply.message.count ?? 0 }
}
