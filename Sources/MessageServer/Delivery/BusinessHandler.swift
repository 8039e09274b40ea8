import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// One business's handlers under its current configuration, with their concurrency limits.
final class BusinessHandler: Sendable {
    /// The handler that is called for one event, with the slots that limit its calls.
    struct Responder: Sendable {
        /// The handler; nil when the business only records its events.
        let handler: (any Handler)?
        let slots: HandlerSlots
        let isFallback: Bool
    }

    /// The handler that answers while the main one is down.
    struct Fallback: Sendable {
        let life: HandlerLifecycle
        let slots: HandlerSlots
        /// The minimum downtime of the main handler.
        let after: Duration
    }

    /// The presence of one call about a payment, until ``leave()`` or the time limit.
    final class PaymentPermit: Sendable {
        private let hasLeft = OnceFlag()
        private let business: BusinessHandler
        private let ticket: UInt64

        fileprivate init(_ business: BusinessHandler, within time: Duration) {
            self.business = business
            ticket = business.paymentDeadlines.nextTicket()
            business.paymentDeadlines.add(ticket, after: time) { [self] in end() }
        }

        /// Counts the call as ended.
        func leave() {
            business.paymentDeadlines.remove(ticket)
            end()
        }

        private func end() {
            if hasLeft.claim() { business.end(\.payments) }
        }
    }

    private struct State {
        /// The number of events that were started and have not ended.
        var inFlight = 0
        /// The number of calls about payments that have not ended.
        var payments = 0
        /// Whether no further events may start.
        var isRetired = false
        /// Kinds of received events to which the handler does not subscribe; the log warns once about each.
        var unhandled: Set<Kind> = []
        var isFallbackTold = false
        /// Waits for the end of all events, then of all payments.
        var retirement: CheckedContinuation<Void, Never>?
    }

    let business: BusinessID
    /// The business's slug: the name of its configuration file without `.json`.
    let slug: String
    /// All inputs of the handlers as bytes, by which a reload detects changes.
    let fingerprint: [UInt8]
    /// The lifecycle; nil when the business only records.
    let life: HandlerLifecycle?
    let fallback: Fallback?
    let slots: HandlerSlots
    /// The time limit of the handler for one delivery.
    let deadline: Duration
    /// A logger with the business's own level.
    let logger: Logger
    /// Claimed by the first warning about a quick reply without a text before it.
    private let questionWarning = OnceFlag()
    private let state = Mutex(State())
    private let paymentDeadlines = CallDeadlines()

    init(
        business: BusinessID, slug: String, fingerprint: [UInt8] = [], life: HandlerLifecycle?,
        fallback: Fallback? = nil, concurrency: Int, deadline: Duration,
        logger: Logger
    ) {
        self.business = business
        self.slug = slug
        self.fingerprint = fingerprint
        self.life = life
        self.deadline = deadline
        self.logger = logger
        slots = HandlerSlots(maximumCount: concurrency)
        self.fallback = fallback
    }

    /// Warns once about an outcome that asks by a quick reply without a text before it.
    func warnAboutQuestion(in outcome: Outcome, _ delivery: Delivery) {
        guard outcome.asksWithoutText, questionWarning.claim() else { return }
        logger.warning(
            "a handler sends a quick reply without a text before it, so the customer sees no question; send the question as a text first. Later ones are not logged",
            metadata: ["business": "\(slug)", "message": "\(delivery.id)"])
    }

    /// How many events the handler and its fallback process, including calls that overran their deadline.
    var inFlightCount: Int { slots.heldCount + (fallback?.slots.heldCount ?? 0) }

    /// The number of started events that wait for a ready handler or for a slot.
    var waitingCount: Int {
        let stuck = slots.stuckCount + (fallback?.slots.stuckCount ?? 0)
        return max(0, state.withLock { $0.inFlight } - (inFlightCount - stuck))
    }

    /// Counts the start of an event; false after ``retire()``, when no more events may start.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isRetired else { return false }
            state.inFlight += 1
            return true
        }
    }

    /// Counts an event as ended; the last one resumes the caller that waits for all events to end.
    func leave() { end(\.inFlight) }

    /// Counts the start of a call about a payment; nil after ``retire()``, when no more calls may start.
    ///
    /// The handler is not ended while it may charge, but no longer than `time`: a handler in this process may
    /// never return.
    func enterPayment(within time: Duration) -> PaymentPermit? {
        let isEntered = state.withLock { state in
            guard !state.isRetired else { return false }
            state.payments += 1
            return true
        }
        return isEntered ? PaymentPermit(self, within: time) : nil
    }

    private func end(_ count: WritableKeyPath<State, Int>) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state[keyPath: count] -= 1
            guard state[keyPath: count] == 0 else { return nil }
            defer { state.retirement = nil }
            return state.retirement
        }
        waiting?.resume()
    }

    /// Returns when the count is 0; only for a retired handler, and one caller at a time.
    private func waitForEnd(of count: @Sendable (State) -> Int) async {
        while state.withLock({ count($0) }) > 0 {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if count(state) > 0 { state.retirement = continuation }
                    return count(state) == 0
                }
                if isOver { continuation.resume() }
            }
        }
    }

    /// Whether the handler subscribes to failed replies; true while its subscriptions are unknown.
    var wantsReplyFailures: Bool { life.map { isSubscribed($0.handler, to: .replyFailed) } ?? false }

    /// Waits until the handler accepts events, or until its fallback may answer an event with this subscription.
    ///
    /// Returns nil when neither will accept events any more, or when the task is cancelled.
    func responder(for subscription: Subscription) async -> Responder? {
        guard let life else { return Responder(handler: nil, slots: slots, isFallback: false) }
        if let downSince = life.downSince, let fallback, isSubscribed(fallback.life.handler, to: subscription)
        {
            let rest = fallback.after - (.now - downSince)
            // At least 20 ms: a handler whose next probe is due needs less than that to become ready.
            switch await life.waitUntilReady(within: max(rest, .milliseconds(20))) {
            case true?: break
            case false?: return nil
            case nil: return await fallbackResponder()
            }
        } else {
            guard await life.waitUntilReady() else { return nil }
        }
        if let maximum = life.maximumInFlight { slots.limit(to: maximum) }
        reportFallback(isNeeded: life.downSince != nil && isFallbackDue)
        return Responder(handler: life.handler, slots: slots, isFallback: false)
    }

    /// Returns the fallback for an event that the handler failed to answer; nil until the handler has been down long
    /// enough.
    func fallbackResponder(for subscription: Subscription) async -> Responder? {
        guard isFallbackDue, let fallback, isSubscribed(fallback.life.handler, to: subscription) else {
            return nil
        }
        return await fallbackResponder()
    }

    /// Returns the fallback for an event after the handler's answer was refused; nil when no fallback is
    /// ready.
    ///
    /// Unlike ``fallbackResponder(for:)``, it returns the fallback even if the handler is not down.
    func fallbackAfterRefusal(for subscription: Subscription) async -> Responder? {
        guard let fallback, isSubscribed(fallback.life.handler, to: subscription),
            await fallback.life.waitUntilReady(within: deadline) == true
        else { return nil }
        return Responder(handler: fallback.life.handler, slots: fallback.slots, isFallback: true)
    }

    private var isFallbackDue: Bool {
        guard let fallback, let downSince = life?.downSince else { return false }
        return .now - downSince >= fallback.after
    }

    private func fallbackResponder() async -> Responder? {
        guard let fallback, await fallback.life.waitUntilReady() else { return nil }
        reportFallback(isNeeded: true)
        return Responder(handler: fallback.life.handler, slots: fallback.slots, isFallback: true)
    }

    private func reportFallback(isNeeded: Bool) {
        let isNew = state.withLock { state in
            defer { state.isFallbackTold = isNeeded }
            return isNeeded != state.isFallbackTold
        }
        guard isNew else { return }
        if isNeeded {
            logger.error("handler is down; its fallback answers", metadata: ["business": "\(slug)"])
        } else {
            logger.notice(
                "handler is up again and answers instead of its fallback", metadata: ["business": "\(slug)"])
        }
    }

    /// Starts the handlers.
    func start() {
        life?.start()
        fallback?.life.start()
    }

    /// Ends all waits for the handlers: their callers get no responder.
    func stopWaiting() {
        life?.stopWaiting()
        fallback?.life.stopWaiting()
    }

    /// Accepts no more events and payments, and waits for the events in flight.
    ///
    /// An event that waits for a slot goes to the next handler. An event that overruns its deadline is interrupted and
    /// retried. The caller then calls ``end()``.
    func retire() async {
        state.withLock { $0.isRetired = true }
        stopWaiting()
        slots.close()
        fallback?.slots.close()
        // Every event in flight ends by its deadline: its slot then reports an overrun, even if the handler still runs.
        await waitForEnd(of: \.inFlight)
    }

    /// The number of calls about payments that have not ended.
    var paymentCount: Int { state.withLock(\.payments) }

    /// Shuts down the handlers of a retired business when their payments have ended.
    ///
    /// A program that charges is not ended, because nobody could say whether its provider charges.
    func end() async {
        await waitForEnd(of: \.payments)
        await shutdown()
    }

    /// Shuts down the handlers that ``start()`` started, each within `time`.
    func shutdown(within time: Duration = HandlerLifecycle.maximumShutdown) async {
        async let fallback: Void? = fallback?.life.shutdown(within: time)
        await life?.shutdown(within: time)
        await fallback
    }

    /// Records an event to which no handler subscribes; true for the first event of its kind.
    func isFirstUnhandled(_ kind: Kind) -> Bool { state.withLock { $0.unhandled.insert(kind).inserted } }
}
