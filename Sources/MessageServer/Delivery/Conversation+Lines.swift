import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore

extension Conversation.Entry {
    /// What the store has of a message, as handlers see it.
    init(_ line: ConversationLine) {
        self.init(
            seq: line.sequence, at: line.at.rfc3339,
            direction: line.direction == .inbound ? .inbound : .outbound, kind: line.kind, id: line.id,
            message: line.message)
    }
}

extension MessageAttributes {
    init(_ received: ReceivedAttributes) {
        self.init(
            capabilities: received.capabilityList.map { Capabilities(parsing: $0) } ?? [],
            locale: received.locale, intent: received.intent, group: received.group)
    }
}
