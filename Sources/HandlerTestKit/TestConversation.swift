public import HandlerKit
import Logging
import Synchronization

/// A customer's conversation with a handler, for its author's tests: no server, no network, no clock.
///
/// ```swift
/// let customer = TestConversation(with: Fishmonger())
/// let replies = try await customer.says("Is there cod?")
/// let answer = try await customer.says(.quickReply("collect"))
/// ```
/// What was said and what the handler remembers is kept from one message to the next, as a server does it.
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

    /// Begins a conversation; the customer's device can show everything unless it is told otherwise.
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

    /// What was said so far, the oldest first.
    public var entries: [Conversation.Entry] { kept.withLock { $0.entries } }

    /// What the handler remembers.
    public var state: ConversationState { ConversationState(kept.withLock { $0.state }.json) }

    /// Gives the handler a text and returns its replies.
    @discardableResult
    public func says(_ text: String) async throws -> [Reply] { try await says(.text(text)) }

    /// Gives the handler a message and returns its replies.
    ///
    /// Throws a ``TestConversationError`` when the event is not handled, or a reply is one that Apple refuses or the
    /// device cannot show, and whatever the handler throws.
    @discardableResult
    public func says(_ message: TestMessage) async throws -> [Reply] {
        guard let outcome = try await outcome(of: message) else { throw TestConversationError.notSubscribed }
        guard case .handled(let replies) = outcome else { throw TestConversationError.notHandled(outcome) }
        return replies
    }

    /// Gives the handler a message and returns its outcome; nil when it does not want the kind.
    ///
    /// `attempt` tells the handler that it was asked before. Only an outcome that ends the event is kept, and what the
    /// handler remembers with it. Throws a ``TestConversationError/unusableReply(index:problems:)`` too.
    public func outcome(of message: TestMessage, attempt: Int = 1) async throws -> Outcome? {
        let context = try context(message, attempt)
        guard let outcome = try await dispatch(context, to: handler) else { return nil }
        if case .retry = outcome { return outcome }
        guard (context.state.change?.count ?? 0) <= ConversationState.maximumBytes else {
            throw TestConversationError.stateTooLarge
        }
        keep(context.event.kind, context.event.id, context.event.message, .inbound)
        kept.withLock { $0.state = ConversationState(context.state.json) }
        guard case .handled(let replies) = outcome else { return outcome }
        for (index, reply) in replies.enumerated() {
            let problems = reply.problems(for: capabilities)
            guard !problems.hasErrors else {
                throw TestConversationError.unusableReply(index: index, problems: problems)
            }
            let id = MessageID.random()
            let json = reply.encode(id: id, from: context.business, to: context.customer)
            keep(reply.kind, id, try JSONDocument(json).root, .outbound)
        }
        return outcome
    }

    private func context(_ message: TestMessage, _ attempt: Int) throws -> Context {
        let (entries, state, delivery) = kept.withLock { kept in
            kept.deliveries += 1
            return (kept.entries, kept.state, kept.deliveries)
        }
        let event = InboundEvent.decode(
            message: try JSONDocument(message.json), id: .random(), business: BusinessID("business"),
            customer: CustomerID("urn:mbid:customer"),
            attributes: MessageAttributes(capabilities: capabilities, locale: locale))
        return Context(
            event: event, conversation: Conversation(entries: entries), state: ConversationState(state.json),
            deliveryID: DeliveryID("\(delivery)"), attempt: attempt, deadline: .now + .seconds(30),
            logger: Logger(label: "handler"))
    }

    private func keep(_ kind: Kind, _ id: MessageID, _ message: JSONValue, _ direction: Direction) {
        kept.withLock { kept in
            kept.entries.append(
                Conversation.Entry(
                    seq: kept.entries.count + 1, at: "2026-01-01T00:00:00.000Z", direction: direction,
                    kind: kind,
                    id: id, message: message))
        }
    }
}
