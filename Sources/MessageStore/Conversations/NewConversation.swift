import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

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
package struct Contact: Hashable, Sendable {
    /// The time of the last message of either side; nil when there is none.
    package internal(set) var at: Timestamp?
    /// Whether the customer's last message closed the conversation.
    var isClosed = false

    /// The facts about no lines.
    package init() {}

    /// Applies a line.
    mutating func apply(_ entry: ConversationEntry) {
        guard !entry.isFilesOnly, !entry.isInternal, !entry.answersServer else { return }
        apply(
            at: entry.at, entry.kind, isInbound: entry.result == nil,
            isDelivered: entry.result?.status == .accepted)
    }

    /// Applies a line of the business that was read from the file.
    package mutating func apply(_ line: ConversationLine, of business: BusinessID) {
        guard !line.isFilesOnly, !line.answersServer(of: business) else { return }
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
    package func next(at time: Timestamp, isReopened: Bool, silence: Duration) -> NewConversation? {
        guard let at, !isClosed, !isReopened, at.advanced(by: silence) > time else {
            return NewConversation(lastContact: at)
        }
        return nil
    }
}

extension [ConversationLine] {
    /// The lines since the last conversation began; all of them when they show no beginning.
    ///
    /// The close by the business is a line of a business with people only.
    package func sinceBeginning(of business: BusinessID, silence: Duration) -> ArraySlice<ConversationLine> {
        var (contact, isReopened, begin) = (Contact(), false, startIndex)
        for (index, line) in enumerated() {
            if line.direction == .internal, line.kindName == "assignment" {
                isReopened = line.message["state"]?.string == Assignment.State.closed.rawValue
            } else if line.mayBegin(of: business), line.repeats == nil {
                if contact.next(at: line.at, isReopened: isReopened, silence: silence) != nil {
                    begin = index
                }
                isReopened = false
            }
            contact.apply(line, of: business)
        }
        return self[begin...]
    }
}

extension ConversationEntry {
    /// Whether the line is a customer's answer to a question of the server.
    fileprivate var answersServer: Bool {
        guard result == nil, ServerQuestion.kinds.contains(kind) else { return false }
        // The journal contains only validated JSON.
        return (try? JSONDocument(message, limits: .journal)).map {
            ServerQuestion.isAnswered(by: $0.root, conversation.business, conversation.customer)
        } ?? false
    }
}

extension ConversationLine {
    /// Whether the line is a customer's answer to a question of the server.
    package func answersServer(of business: BusinessID) -> Bool {
        direction == .inbound && ServerQuestion.kinds.contains(kind)
            && ServerQuestion.isAnswered(by: message, business, customer)
    }

    /// Whether the line is a customer's message that may begin a conversation.
    package func mayBegin(of business: BusinessID) -> Bool {
        direction == .inbound && !isFilesOnly && !kind.isTyping && kind != .close
            && !answersServer(of: business)
    }

    /// Whether the line is a message of the business that the gateway accepted.
    var isDelivered: Bool { outcome == ReplyState.Status.accepted.rawValue }
}
