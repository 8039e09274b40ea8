public import BusinessMessages

/// A message that a handler answers with.
public typealias Reply = OutboundMessage

/// What becomes of an event after its handler saw it.
///
/// It is decided once: written down with its replies before the first of them is sent, and then never asked
/// for again.
public enum Outcome: Hashable, Sendable {
    /// The event is done; these replies are sent in order.
    case handled([Reply])
    /// Try again, by the server's own schedule or after this time where that is later; at most five minutes are asked for.
    case retry(after: Duration?)
    /// The event cannot be handled and never will be; it is kept as a dead letter. The reason is for the log:
    /// no customer text.
    case reject(reason: String)
    /// A human should take over. The reason is for the log: no customer text.
    case handoff(reason: String)

    /// The event is done and needs no reply.
    public static var handled: Outcome { .handled([]) }

    /// Try again by the server's own schedule.
    public static var retry: Outcome { .retry(after: nil) }

    /// The event is done; the replies are sent in order.
    public static func reply(_ replies: Reply...) -> Outcome { .handled(replies) }

    /// The event is done; a text is sent.
    public static func reply(_ text: String) -> Outcome { .handled([.text(text)]) }
}
