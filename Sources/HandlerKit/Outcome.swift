public import BusinessMessages

/// A message that a handler answers with.
public typealias Reply = OutboundMessage

/// The result of an event, as its handler decides it.
///
/// The outcome is decided once: it is stored with its replies before the first of them is sent, and the
/// handler is not called again.
public enum Outcome: Hashable, Sendable {
    /// The event is done; these replies are sent in order.
    case handled([Reply])
    /// Call the handler again, after the server's own delay or this one, whichever is longer; at most five minutes
    /// are honoured.
    case retry(after: Duration?)
    /// The event can never be handled and becomes a dead letter. The reason is logged: include no customer
    /// text.
    case reject(reason: String)
    /// A person continues the conversation; these replies are sent in order.
    ///
    /// Without replies the customer gets the business's own text for this. The reason is logged: include no customer
    /// text.
    case handoff(reason: String, replies: [Reply] = [])

    /// The event is done and needs no reply.
    public static var handled: Outcome { .handled([]) }

    /// Call the handler again after the server's own delay.
    public static var retry: Outcome { .retry(after: nil) }

    /// The event is done; these replies are sent in order.
    public static func reply(_ replies: Reply...) -> Outcome { .handled(replies) }

    /// The event is done; this text is sent.
    public static func reply(_ text: String) -> Outcome { .handled([.text(text)]) }

    /// The replies; empty for an outcome that has none.
    package var replies: [Reply] {
        switch self {
        case .handled(let replies), .handoff(_, let replies): replies
        case .retry, .reject: []
        }
    }

    /// The same outcome with other replies; an outcome that has none is unchanged.
    package func replacing(replies: [Reply]) -> Outcome {
        switch self {
        case .handled: .handled(replies)
        case .handoff(let reason, _): .handoff(reason: reason, replies: replies)
        case .retry, .reject: self
        }
    }
}
