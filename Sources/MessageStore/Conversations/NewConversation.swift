package import BalloonPOSIX
import BusinessMessages

/// A conversation that begins with a customer's message.
///
/// It is the customer's first message, the first one after either side closed the conversation, or the first one
/// after a time in which neither side wrote.
package struct NewConversation: Hashable, Sendable {
    /// The time of the last message of either side before it; nil in the customer's first conversation.
    package let lastContact: Timestamp?

    /// Creates a new conversation.
    package init(lastContact: Timestamp?) { self.lastContact = lastContact }

    /// The silence of both sides after which a conversation is new, unless the business's file says otherwise.
    package static let silence = Duration.seconds(24 * 3600)
}

/// The facts about a conversation's lines that decide whether the next message begins a new one.
struct Contact: Hashable, Sendable {
    /// The time of the last message of either side; nil when there is none.
    var at: Timestamp?
    /// Whether the customer's last message closed the conversation.
    var isClosed = false

    /// Applies a line.
    mutating func apply(_ entry: ConversationEntry) {
        guard !entry.isFilesOnly else { return }
        apply(
            at: entry.at, entry.kind, isInbound: entry.result == nil,
            isDelivered: entry.result?.status == .accepted)
    }

    /// Applies a line that was read from the file.
    mutating func apply(_ line: ConversationLine) {
        guard !line.isFilesOnly else { return }
        apply(
            at: line.at, line.kind, isInbound: line.direction == .inbound,
            isDelivered: line.isDelivered)
    }

    /// Indicators and undelivered replies are no contact.
    private mutating func apply(at: Timestamp, _ kind: Kind, isInbound: Bool, isDelivered: Bool) {
        guard !kind.isTyping, isInbound || isDelivered else { return }
        self.at = max(self.at ?? at, at)
        if isInbound { isClosed = kind == .close }
    }

    /// Returns the conversation that begins with a message at `time`; nil when the message continues this one.
    func next(at time: Timestamp, isReopened: Bool, silence: Duration) -> NewConversation? {
        guard let at, !isClosed, !isReopened, at.advanced(by: silence) > time else {
            return NewConversation(lastContact: at)
        }
        return nil
    }
}

extension ConversationLine {
    /// Whether the line is a customer's message that may begin a conversation.
    var mayBegin: Bool { direction == .inbound && !isFilesOnly && !kind.isTyping && kind != .close }

    /// Whether the line is a message of the business that the gateway accepted.
    var isDelivered: Bool { outcome == ReplyState.Status.accepted.rawValue }
}
