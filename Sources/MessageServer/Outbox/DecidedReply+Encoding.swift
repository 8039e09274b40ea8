import BalloonPOSIX
import BusinessMessages
import MessageStore

extension DecidedReply {
    /// Creates a reply from a message, which is encoded for the conversation.
    init(
        _ message: OutboundMessage, as id: MessageID, in name: ConversationID, by author: MessageAuthor? = nil
    ) {
        self.init(
            id: id, kind: message.kind,
            message: message.encodeToSend(id: id, from: name.business, to: name.customer), author: author)
    }
}

extension ReceivedMessage {
    /// Creates a message of its own from a reply, which is not sent after `until`.
    init(_ reply: DecidedReply, in name: ConversationID, until: Timestamp? = nil) {
        self.init(
            business: name.business, customer: name.customer, id: reply.id, message: reply.message,
            outboundKind: reply.kind, author: reply.author, until: until)
    }
}

extension Store {
    /// Makes a message durable; a message with the same id is there already.
    func append(_ message: ReceivedMessage) async throws {
        let result = await withCheckedContinuation { continuation in
            append(message) { continuation.resume(returning: $0) }
        }
        if case .failed(let error) = result { throw error }
    }
}
