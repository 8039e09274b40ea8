public import HandlerKit
import Logging
import Synchronization

/// A conversation between a test customer and a handler, for the handler's tests: no server, no network, no
/// clock.
///
/// ```swift
/// let customer = TestConversation(with: Fishmonger())
/// let replies = try await customer.says("Is there cod?")
/// let answer = try await customer.says(.quickReply("collect"))
/// ```
/// As in a server, each message sees the earlier messages and the handler's state.
public final class TestConversation: Sendable {
    private struct Kept {
        var entries: [Conversation.Entry] = []
        var state = ConversationState()
        var deliveries = 0
    }

    private let handler: any Handler
    private let capabilities: Capabilities
    private let locale: String?
    private let kept = Mutex(Kept())

    /// Starts a conversation; by default the customer's device can show everything.
    public init(
        with handler: any Handler,
        capabilities: Capabilities = [
            .quickReply, .listPicker, .timePicker, .form, .authentication, .authentication2,
        ],
        locale: String? = "en_US"
    ) {
        self.handler = handler
        self.capabilities = capabilities
        self.locale = locale
    }

    /// The messages so far, the oldest first.
    public var entries: [Conversation.Entry] { kept.withLock { $0.entries } }

    /// The handler's state of the conversation.
    public var state: ConversationState { ConversationState(kept.withLock { $0.state }.json) }

    /// Sends a text to the handler and returns the replies.
    @discardableResult
    public func says(_ text: String) async throws -> [Reply] { try await says(.text(text)) }

    /// Sends a message to the handler and returns the replies.
    ///
    /// Throws a ``TestConversationError`` when the handler does not handle the event, when Apple would refuse
    /// a reply, or when the device cannot show it. Errors of the handler are rethrown.
    @discardableResult
    public func says(_ message: TestMessage) async throws -> [Reply] {
        guard let outcome = try await outcome(of: message) else { throw TestConversationError.notSubscribed }
        guard case .handled(let replies) = outcome else { throw TestConversationError.notHandled(outcome) }
        return replies
    }

    /// Sends a message to the handler and returns the outcome.
    ///
    /// Returns nil when the handler does not subscribe to the kind. The handler sees `attempt` as the number
    /// of its attempt. The messages and the handler's state are stored unless the outcome is a retry. Throws
    /// ``TestConversationError/unusableReply(index:problems:)`` as well.
    public func outcome(of message: TestMessage, attempt: Int = 1) async throws -> Outcome? {
        try await outcome(of: context(message, attempt))
    }

    private func outcome(of context: Context) async throws -> Outcome? {
        guard let outcome = try await dispatch(context, to: handler) else { return nil }
        if case .retry = outcome { return outcome }
        guard (context.state.change?.count ?? 0) <= ConversationState.maximumBytes else {
            throw TestConversationError.stateTooLarge
        }
        if context.replyFailure == nil {
            keep(context.event.kind, context.event.id, context.event.message, .inbound)
        }
        kept.withLock { $0.state = ConversationState(context.state.json) }
        // As in a server, a fallback replaces a reply that the device cannot show. A reply without a fallback
        // becomes a problem below.
        let shown = outcome.replies.map { (try? $0.showable(on: capabilities)) ?? $0 }
        for (index, reply) in shown.enumerated() {
            let problems = reply.problems(for: capabilities)
            guard !problems.hasErrors else {
                throw TestConversationError.unusableReply(index: index, problems: problems)
            }
            let id = MessageID.random()
            let json = reply.encode(id: id, from: context.business, to: context.customer)
            keep(reply.kind, id, try JSONDocument(json).root, .outbound)
        }
        return outcome.replacing(replies: shown)
    }

    /// Tells the handler that its last reply has failed, and returns the handler's new replies.
    ///
    /// Throws ``TestConversationError/noReply`` when the handler has not replied yet, and the errors of
    /// ``says(_:)-(TestMessage)``.
    @discardableResult
    public func lastReplyFails(
        _ status: ReplyFailure.Status = .refused, httpStatus: Int? = 400, reason: String = "Bad Request"
    ) async throws -> [Reply] {
        let failure = try failLastReply(status, httpStatus, reason)
        let event = InboundEvent.decode(
            message: try JSONDocument(failure.json), id: failure.reply, business: BusinessID("business"),
            customer: CustomerID("urn:mbid:customer"),
            attributes: MessageAttributes(capabilities: capabilities, locale: locale))
        guard let outcome = try await outcome(of: context(event, failure, attempt: 1)) else {
            throw TestConversationError.notSubscribed
        }
        guard case .handled(let replies) = outcome else { throw TestConversationError.notHandled(outcome) }
        return replies
    }

    private func failLastReply(
        _ status: ReplyFailure.Status, _ httpStatus: Int?, _ reason: String
    ) throws -> ReplyFailure {
        try kept.withLock { kept in
            guard let index = kept.entries.lastIndex(where: { $0.direction == .outbound }) else {
                throw TestConversationError.noReply
            }
            let entry = kept.entries[index]
            let answered = kept.entries[..<index].last { $0.direction == .inbound }
            kept.entries[index] = Conversation.Entry(
                seq: entry.seq, at: entry.at, direction: .outbound, kind: entry.kind, id: entry.id,
                outcome: status.rawValue, message: entry.message)
            return ReplyFailure(
                reply: entry.id, inReplyTo: answered?.id, kind: entry.kind, status: status,
                httpStatus: status == .refused ? httpStatus : nil, reason: reason)
        }
    }

    private func context(_ message: TestMessage, _ attempt: Int) throws -> Context {
        let event = InboundEvent.decode(
            message: try JSONDocument(message.json), id: .random(), business: BusinessID("business"),
            customer: CustomerID("urn:mbid:customer"),
            attributes: MessageAttributes(capabilities: capabilities, locale: locale))
        return context(event, nil, attempt: attempt)
    }

    private func context(_ event: InboundEvent, _ failure: ReplyFailure?, attempt: Int) -> Context {
        let (entries, state, delivery) = kept.withLock { kept in
            kept.deliveries += 1
            return (kept.entries, kept.state, kept.deliveries)
        }
        return Context(
            event: event, replyFailure: failure, conversation: Conversation(entries: entries),
            state: ConversationState(state.json),
            deliveryID: DeliveryID("\(delivery)"), attempt: attempt, deadline: .now + .seconds(30),
            logger: Logger(label: "handler"))
    }

    private func keep(_ kind: Kind, _ id: MessageID, _ message: JSONValue, _ direction: Direction) {
        kept.withLock { kept in
            kept.entries.append(
                Conversation.Entry(
                    seq: kept.entries.count + 1, at: "2026-01-01T00:00:00.000Z", direction: direction,
                    kind: kind, id: id, outcome: direction == .outbound ? "accepted" : nil, message: message))
        }
    }
}
