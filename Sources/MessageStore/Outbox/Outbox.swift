import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// The decided replies that have not ended, in memory: their order, and the places of their texts in the
/// journal.
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
        /// The segment of the message that was answered, which is kept until the reply has ended.
        let segment: UInt64
        /// The reply's text, if it is cached.
        var text: ReplyText?
        let isRecovered: Bool
        /// The identity of a message of the business's own accord; nil for a reply.
        var key: MessageKey?
        /// The SHA-256 of the request that brought such a message to this process; nil without one.
        var requestDigest: String?
        /// Whether the reply answers the failure of another reply.
        var answersFailure = false
        /// The reply's end, once it is in the journal; the conversation may still lack its line.
        var end: (result: ReplyResult, at: Timestamp)?
        /// The number of the reply's line in ``UnwrittenLines``; nil before the reply's end.
        var line: UInt64?
        /// The record of the reply's end, when it is reported to the handler after the line is written.
        var report: JournalledRecord?
    }

    /// A reply leased for an attempt.
    struct Lease: Sendable {
        let entry: OutboxQueue.Entry
        let item: Item
        let closure: OutboxEntry.Closure
    }

    fileprivate struct State {
        var queue = OutboxQueue()
        var items: [ReplyID: Item] = [:]
        /// The messages of the business's own accord among them.
        var messages: [MessageKey: ReplyID] = [:]
        /// Whether the customer closed a conversation with queued replies.
        var closures: [ConversationKey: OutboxEntry.Closure] = [:]
        /// The number of replies with unreadable records; they and later ones of their conversations wait for
        /// a restart.
        var unreadable = 0
        var textBytes = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let total = Atomic(0)
    private let timers = DispatchQueue(label: "balloon.outbox")
    private let wake: AsyncStream<Void>.Continuation
    /// Yields a value whenever a reply may have become available.
    let wakeups: AsyncStream<Void>
    /// The limit of cached text bytes.
    private static let maximumTextBytes = 16 << 20

    init() { (wakeups, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// The number of replies that have not ended.
    var count: Int { total.load(ordering: .relaxed) }

    /// The number of unreadable replies.
    var unreadableCount: Int { state.withLock { $0.unreadable } }

    /// Holds back the replies of these conversations, which are listed all the same, until ``releaseHeld()``.
    func hold(_ conversations: Set<ConversationKey>) { state.withLock { $0.queue.hold(conversations) } }

    /// Whether the replies of a conversation are held back.
    func holds(_ conversation: ConversationKey) -> Bool {
        state.withLock { $0.queue.holds(conversation) }
    }

    /// Allows sending of the replies that were held back.
    func releaseHeld() {
        state.withLock { $0.queue.releaseHeld() }
        wake.yield()
    }

    /// Adds replies behind those of their conversation.
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

    /// Records that a customer wrote or closed a conversation.
    func record(_ act: ReceivedMessage.Act, in conversation: ConversationKey) {
        guard act != .neither, count > 0 else { return }
        state.withLock { state in
            guard state.closures[conversation] != nil else { return }
            state.closures[conversation] = act == .closes ? .closed : .open
        }
    }

    /// Leases a reply according to `selection`.
    func lease(_ selection: OutboxSelection, at now: Timestamp) -> Lease? {
        state.withLock { state -> Lease? in
            guard !state.isClosed, let entry = state.queue.lease(selection, at: now) else { return nil }
            return state.leased(entry)
        }
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

    /// Leases the reply with this name; nil when no such reply is queued, or it is being sent.
    func lease(_ id: ReplyID) -> Lease? {
        state.withLock { state -> Lease? in
            guard !state.isClosed, let entry = state.queue.lease(id: id) else { return nil }
            return state.leased(entry)
        }
    }

    /// The data of a queued reply; nil when it has ended.
    func item(_ id: ReplyID) -> Item? { state.withLock { $0.items[id] } }

    /// The record of a queued message of the business's own accord; nil when it has ended, or never was.
    func record(of key: MessageKey) -> UInt64? {
        if count == 0 { return nil }
        return state.withLock { $0.messages[key]?.record }
    }

    /// The conversation of a reply whose line is not written yet, and its end, if it has ended; nil for another reply.
    func progress(of id: ReplyID) -> (conversation: ConversationKey, result: ReplyResult?)? {
        state.withLock { state in
            state.queue.entry(id).map { ($0.conversation, state.items[id]?.end?.result) }
        }
    }

    /// Records that a reply's end is in the journal.
    func recordEnd(
        _ id: ReplyID, _ result: ReplyResult, at: Timestamp, line: UInt64, report: JournalledRecord?
    ) {
        state.withLock { state in
            state.items[id]?.end = (result, at)
            state.items[id]?.line = line
            state.items[id]?.report = report
        }
    }

    /// Removes a reply whose end and line are written.
    func settle(_ id: ReplyID) {
        let isKnown = state.withLock { state in
            guard let entry = state.queue.settle(id) else { return false }
            if let item = state.items.removeValue(forKey: id) {
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

    /// Ends a lease after a failed attempt; the reply can be leased again at `due`, or by a probe from `notBefore`
    /// on.
    func postpone(_ id: ReplyID, until due: Timestamp, notBefore: Timestamp? = nil) {
        state.withLock { $0.queue.postpone(id, until: due, notBefore: notBefore) }
        // Another reply may be sent in its place.
        wake.yield()
        wakeSender(at: due)
    }

    /// Ends a lease without an attempt.
    func release(_ id: ReplyID) {
        state.withLock { $0.queue.release(id) }
        wake.yield()
    }

    /// Counts an unreadable leased reply, which stays blocked until a restart.
    func markUnreadable() { state.withLock { $0.unreadable += 1 } }

    /// The queued replies of a conversation, in sending order.
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

    /// Stops leasing; ends the stream of wake-ups.
    func close() {
        state.withLock { $0.isClosed = true }
        wake.finish()
    }

    /// Wakes the sender at `due`, a time of ``SteadyClock``, or now.
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
            Outbox.Lease(entry: entry, item: $0, closure: closures[entry.conversation] ?? .unknown)
        }
    }

    /// The item, without its text when the cache is full.
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
