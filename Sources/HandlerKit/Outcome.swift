public import BusinessMessages

/// A message that a handler answers with.
public typealias Reply = OutboundMessage

/// The result of an event, as its handler decides it.
///
/// Every outcome except ``retry(after:)`` is final. The server stores the outcome with its replies before the
/// first reply is sent, and does not call the handler for this event again.
public enum Outcome: Hashable, Sendable {
    /// The event is done; these replies are sent in order.
    case handled([Reply])
    /// The handler must be called again after a delay.
    ///
    /// The delay is the server's own or this one, whichever is longer; at most five minutes of this one
    /// count.
    case retry(after: Duration?)
    /// The event can never be handled and becomes a dead letter.
    ///
    /// The reason, of which the server keeps ``maximumReasonBytes``, stands in the dead letter: include no
    /// customer text.
    case reject(reason: String)
    /// A person must continue the conversation; these replies are sent in order.
    ///
    /// Without replies the customer gets the text that the business has configured for a handoff. The person
    /// reads the reason, of which the server keeps ``maximumReasonBytes``, and the note.
    ///
    /// `queue` is the id of a queue of the business; the rules in the business's file come first, and an unknown queue
    /// means the business's first one. `priority` is 0 to 9; a higher one is answered first.
    case handoff(
        reason: String, replies: [Reply] = [], queue: String? = nil, priority: Int? = nil,
        note: String? = nil)

    /// The number of bytes of a reason that the server keeps.
    public static let maximumReasonBytes = 500

    /// The event is done and needs no reply.
    public static var handled: Outcome { .handled([]) }

    /// The handler must be called again after the server's own delay.
    public static var retry: Outcome { .retry(after: nil) }

    /// The event is done; these replies are sent in order.
    public static func reply(_ replies: Reply...) -> Outcome { .handled(replies) }

    /// The event is done; this text is sent.
    public static func reply(_ text: String) -> Outcome { .handled([.text(text)]) }

    /// Whether a quick reply comes without a text between it and the question before it.
    ///
    /// Apple MSP API, "Quick Reply Message": the question is a message of its own, because a device shows `summaryText`
    /// only in its notification.
    package var asksWithoutText: Bool {
        var hasText = false
        for reply in replies {
            switch reply.kind {
            case .text: hasText = true
            case .quickReply where !hasText: return true
            // The text belongs to this question.
            case .quickReply, .listPicker, .timePicker, .form, .authentication, .applePay: hasText = false
            case .app, .invitation, .typingStart, .typingEnd, .close, .unrecognized: break
            }
        }
        return false
    }

    /// The replies; empty for an outcome that has none.
    package var replies: [Reply] {
        switch self {
        case .handled(let replies), .handoff(_, let replies, _, _, _): replies
        case .retry, .reject: []
        }
    }

    /// Returns the same outcome with other replies; an outcome without replies is returned unchanged.
    package func replacing(replies: [Reply]) -> Outcome {
        switch self {
        case .handled: .handled(replies)
        case .handoff(let reason, _, let queue, let priority, let note):
            .handoff(reason: reason, replies: replies, queue: queue, priority: priority, note: note)
        case .retry, .reject: self
        }
    }
}
