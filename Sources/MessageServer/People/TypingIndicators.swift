import BalloonPOSIX
import BusinessMessages
import Dispatch
import GatewayClient
import Logging
import MessageStore
import Synchronization

/// Shows customers that a person is typing.
///
/// An indicator ends when the caller ends it, when a message is sent to the customer, or after 30 seconds.
/// Indicators are not written to the journal, and sending one is tried once. The indicators of a conversation
/// are sent one after another, so that an end never arrives before its start.
final class TypingIndicators: Sendable {
    /// The result of starting an indicator.
    enum Beginning: Sendable {
        case begun
        /// The last start in the conversation was less than three seconds ago.
        case tooSoon
        /// The business, or the server, already has the maximum number of indicators.
        case tooMany
    }

    /// Makes one attempt to send an indicator to a conversation: true starts the display, and false ends it.
    typealias Sender = @Sendable (ConversationID, Bool) async -> Void

    /// Runs the closure once when this time has passed.
    typealias Timer = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    fileprivate struct Indicator {
        /// The number of the latest start.
        var number: UInt64
        var begunAt: ContinuousClock.Instant
        var isWanted = true
        /// The number of the start that was sent last.
        var sent: UInt64 = 0
        /// Whether the customer probably sees the indicator: its start was sent, but neither its end nor a
        /// message was sent after that.
        var isShown = false
        /// Whether a task sends the indicators of the conversation.
        var isSending = false
        /// Whether the indicator's time has passed, so that the entry is removed as soon as everything is
        /// sent.
        var isExpired = false
    }

    fileprivate struct State {
        var indicators: [ConversationID: Indicator] = [:]
        var lastNumber: UInt64 = 0
    }

    /// The minimum time between two starts in one conversation.
    static let pause = Duration.seconds(3)
    /// The maximum number of conversations of one business that have an indicator.
    static let maximumPerBusiness = 1000
    static let maximumCount = 16_000

    private let state = Mutex(State())
    private let lifetime: Duration
    private let send: Sender
    private let publish: @Sendable (ConversationID, Bool) -> Void
    private let timer: Timer
    /// Yields each conversation that has an indicator to send; a conversation is not yielded again while it
    /// is processed.
    private let (work, workers) = AsyncStream.makeStream(
        of: ConversationID.self, bufferingPolicy: .bufferingOldest(2 * TypingIndicators.maximumCount))

    /// Sends indicators with `send`, and reports each start and end to `publish`.
    ///
    /// `publish` must return quickly, and may be called on any thread.
    init(
        lifetime: Duration = .seconds(30), timer: @escaping Timer = dispatchTimer(), send: @escaping Sender,
        publish: @escaping @Sendable (ConversationID, Bool) -> Void
    ) {
        self.timer = timer
        self.lifetime = lifetime
        self.send = send
        self.publish = publish
    }

    /// The number of conversations with an indicator, or with one that ended less than three seconds ago.
    var count: Int { state.withLock { $0.indicators.count } }

    /// Whether any indicator is being sent.
    var isSending: Bool { state.withLock { $0.indicators.values.contains(where: \.isSending) } }

    /// Shows an indicator, or extends its time when it is already shown.
    func begin(in name: ConversationID, now: ContinuousClock.Instant = .now) -> Beginning {
        let (result, number) = state.withLock { state -> (Beginning, UInt64) in
            var indicator = state.indicators[name]
            if let begunAt = indicator?.begunAt, now < begunAt + Self.pause { return (.tooSoon, 0) }
            if indicator == nil {
                let own = state.indicators.keys.count { $0.business == name.business }
                guard own < Self.maximumPerBusiness, state.indicators.count < Self.maximumCount else {
                    return (.tooMany, 0)
                }
            }
            state.lastNumber += 1
            indicator = indicator ?? Indicator(number: 0, begunAt: now)
            indicator?.number = state.lastNumber
            indicator?.begunAt = now
            indicator?.isWanted = true
            indicator?.isExpired = false
            state.indicators[name] = indicator
            schedule(name, in: &state)
            return (.begun, state.lastNumber)
        }
        guard case .begun = result else { return result }
        publish(name, true)
        expire(name, number, after: lifetime)
        return result
    }

    /// Ends a conversation's indicator; does nothing when none is shown.
    ///
    /// `isMessageSent` says that Apple accepted a message to the customer, which also ends the display on the
    /// customer's device.
    func end(in name: ConversationID, isMessageSent: Bool = false) {
        let number = state.withLock { state -> UInt64? in
            guard let indicator = state.indicators[name], indicator.isWanted else { return nil }
            state.indicators[name]?.isWanted = false
            if !isMessageSent {
                schedule(name, in: &state)
            } else if !indicator.isSending {
                // A start that is being sent now may arrive after the message, so the display must then still be
                // ended.
                state.indicators[name]?.isShown = false
            }
            return indicator.number
        }
        guard let number else { return }
        publish(name, false)
        // The entry is removed when another start is allowed.
        expire(name, number, after: Self.pause)
    }

    private func expire(_ name: ConversationID, _ number: UInt64, after time: Duration) {
        timer(time) { [weak self] in self?.expire(name, number) }
    }

    /// Makes ``run()`` return as soon as the sends in progress are complete.
    func stop() { workers.finish() }

    /// Sends indicators until ``stop()`` is called, or the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await name in work { group.addTask { await self.sendAll(in: name) } }
        }
    }

    private func sendAll(in name: ConversationID) async {
        while let isTyping = state.withLock({ $0.next(in: name) }) { await send(name, isTyping) }
    }

    /// Ends the indicator with this number because its time has passed, and marks its entry for removal.
    ///
    /// Does nothing when a later start has extended the indicator.
    private func expire(_ name: ConversationID, _ number: UInt64) {
        let isChanged = state.withLock { state in
            guard let indicator = state.indicators[name], indicator.number == number else { return false }
            state.indicators[name]?.isWanted = false
            state.indicators[name]?.isExpired = true
            schedule(name, in: &state)
            return indicator.isWanted
        }
        if isChanged { publish(name, false) }
    }

    private func schedule(_ name: ConversationID, in state: inout State) {
        guard state.indicators[name]?.isSending == false else { return }
        state.indicators[name]?.isSending = true
        workers.yield(name)
    }

    /// Returns a timer that uses a dispatch queue of its own.
    static func dispatchTimer() -> Timer {
        let queue = DispatchQueue(label: "balloon.typing")
        return { time, body in queue.asyncAfter(deadline: .now() + time.dispatchInterval, execute: body) }
    }

    /// Returns a sender that sends through Apple's gateway, and logs a failure at the level debug.
    static func sender(_ gateway: GatewayClient, isAutomatic: Bool, _ logger: Logger) -> Sender {
        var options = SendOptions()
        options.isAutomatic = isAutomatic
        return { [options] name, isTyping in
            let id = MessageID.random()
            let message = isTyping ? OutboundMessage.typingStart : .typingEnd
            let body = message.encodeToSend(id: id, from: name.business, to: name.customer)
            do throws(GatewayError) {
                _ = try await gateway.send(
                    body, id: id, from: name.business, to: name.customer, options: options)
            } catch {
                logger.debug(
                    "typing indicator not sent",
                    metadata: ["business": "\(name.business.rawValue)", "error": "\(error)"])
            }
        }
    }
}

extension TypingIndicators.State {
    /// Returns what to send next: true for a start, false for an end, and nil when everything is sent.
    fileprivate mutating func next(in name: ConversationID) -> Bool? {
        guard var indicator = indicators[name] else { return nil }
        defer { indicators[name] = indicator.isExpired && !indicator.isSending ? nil : indicator }
        if indicator.isWanted, indicator.sent != indicator.number {
            indicator.sent = indicator.number
            indicator.isShown = true
            return true
        }
        if !indicator.isWanted, indicator.isShown {
            indicator.isShown = false
            return false
        }
        indicator.isSending = false
        return nil
    }
}
