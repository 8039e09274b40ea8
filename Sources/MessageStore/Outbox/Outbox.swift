import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// The decided replies that have not ended, in memory: an ``OutboxQueue`` with its lock, its clock and its wakeups.
///
/// ```
///   outcome durable ──add──> queue ──lease──> sender ──settle──> reply record ──> conversation line
///                              ^                 │
///                              └────postpone─────┘   (replyAttempt record)
/// ```
final class Outbox: Sendable {
    private struct State {
        var queue = OutboxQueue()
        /// The proactive messages in `queue`, by their identities.
        var messages: [MessageKey: ReplyID] = [:]
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

    /// Runs `body` on the queue; for short steps after which the sender need not look for replies.
    func withQueue<Result: Sendable>(_ body: (inout OutboxQueue) -> Result) -> Result {
        state.withLock { body(&$0.queue) }
    }

    /// Lets the sender look for replies.
    func wakeSender() { wake.yield() }

    /// Allows sending the replies that ``OutboxQueue/hold(_:)`` stopped.
    func releaseHeld() {
        state.withLock { $0.queue.releaseHeld() }
        wake.yield()
    }

    /// Adds replies of one conversation after those that it already has in the queue.
    ///
    /// `isClosed` says whether the customer closed the conversation; nil when that is unknown.
    func add(_ entries: [OutboxQueue.Entry], isClosed: Bool?) {
        guard let first = entries.first else { return }
        total.add(entries.count, ordering: .relaxed)
        state.withLock { state in
            for var entry in entries {
                // The cache of texts has a limit.
                if state.textBytes + entry.textBytes > Self.maximumTextBytes { entry.text = nil }
                state.textBytes += entry.textBytes
                state.queue.add(entry)
                if let key = entry.key { state.messages[key] = entry.id }
            }
            state.queue.setClosed(isClosed, first.conversation)
        }
        wakeSender(at: first.due)
    }

    /// Records which conversations the customers' messages closed or opened.
    ///
    /// Returns the backlog of replies of each message's business, in the same order; nil when no reply is queued.
    func record(_ messages: [Lease]) -> [Backlog]? {
        if count == 0 { return nil }
        return state.withLock { state in
            messages.map { message in
                let (act, conversation) = (message.pending.act, message.conversation)
                if act.opensOrCloses { state.queue.setClosed(act == .closes, conversation) }
                return state.queue.backlog(of: conversation.business)
            }
        }
    }

    /// Leases the next reply that `selection` allows.
    ///
    /// A conversation whose pause begins meanwhile is yielded by ``begunPauses``, unless it is closed.
    func lease(_ selection: OutboxSelection, at now: Timestamp) -> OutboxQueue.Entry? {
        let (entry, starts) = state.withLock {
            state -> (OutboxQueue.Entry?, [(start: ReplyPause, isClosed: Bool)]) in
            guard !state.isClosed else { return (nil, []) }
            let entry = state.queue.lease(selection, at: now)
            let starts = state.queue.takeBegunPauses().map {
                ($0, state.queue.isClosed($0.conversation) == true)
            }
            return (entry, starts)
        }
        for (start, isClosed) in starts {
            if !isClosed { typing.yield(start) }
            wakeSender(at: start.due)
        }
        return entry
    }

    /// Leases a reply that was decided longer than `lifetime` ago.
    func leaseExpired(at now: Timestamp, after lifetime: Duration) -> OutboxQueue.Entry? {
        state.withLock { $0.isClosed ? nil : $0.queue.leaseExpired(at: now, after: lifetime) }
    }

    /// Leases the reply with this identity; nil when it is not queued or is leased.
    func lease(_ id: ReplyID) -> OutboxQueue.Entry? {
        state.withLock { $0.isClosed ? nil : $0.queue.lease(id: id) }
    }

    /// Returns the record of a queued proactive message; nil when the message is not queued.
    func record(of key: MessageKey) -> UInt64? {
        if count == 0 { return nil }
        return state.withLock { $0.messages[key]?.record }
    }

    /// Removes a reply whose end is in the journal and whose line is written.
    func settle(_ id: ReplyID) {
        let isKnown = state.withLock { state in
            guard
                let entry = state.queue.settle(
                    id, at: SystemClock.nanoseconds(), steady: SteadyClock.now())
            else { return false }
            state.textBytes -= entry.textBytes
            if let key = entry.key, state.messages[key] == id { state.messages[key] = nil }
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

    /// Ends a lease without an attempt.
    func release(_ id: ReplyID) {
        state.withLock { $0.queue.release(id) }
        wake.yield()
    }

    /// Returns the queued replies of a conversation, in the order in which they are sent.
    func queued(of conversation: ConversationKey, maximum: Int) -> [OutboxQueue.Entry] {
        guard count > 0 else { return [] }
        return state.withLock { $0.queue.entries(of: conversation, maximum: maximum) }
    }

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

extension OutboxQueue.Entry {
    fileprivate var textBytes: Int { text?.reply.message.count ?? 0 }
}
