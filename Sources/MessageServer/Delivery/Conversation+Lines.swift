import BalloonPOSIX
import HandlerKit
import MessageStore

extension Conversation.Entry {
    /// Converts the store's line to the form for handlers; nil for an internal line, which no handler gets.
    init?(_ line: ConversationLine) {
        guard line.direction != .internal else { return nil }
        self.init(
            seq: line.sequence, at: line.at.rfc3339,
            direction: line.direction == .inbound ? .inbound : .outbound, kind: line.kind, id: line.id,
            outcome: line.outcome, message: line.message)
    }

    /// Converts a queued reply to the form for handlers; nil when it is not JSON, although every journaled
    /// reply is JSON.
    init?(_ queued: OutboxEntry) {
        guard let message = try? JSONDocument(queued.reply.message, limits: .stored) else { return nil }
        self.init(
            seq: nil, at: queued.decidedAt.rfc3339, direction: .outbound, kind: queued.reply.kind,
            id: queued.reply.id, outcome: ReplyState.Status.queued.rawValue, message: message.root)
    }
}

extension MessageAttributes {
    init(_ received: ReceivedAttributes) {
        self.init(
            capabilities: received.capabilityList.map { Capabilities(parsing: $0) } ?? [],
            locale: received.locale, intent: received.intent, group: received.group,
            version: received.version, deviceAgent: received.deviceAgent)
    }
}
