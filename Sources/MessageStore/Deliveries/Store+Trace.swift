package import BusinessMessages

extension Store {
    /// A message and its replies, as the journal has them now.
    package struct Trace: Sendable {
        /// The message and the state of its delivery.
        package let event: JournalEvent
        /// Its decided replies, in order.
        package let replies: [JournalReply]

        /// Whether the delivery and every reply have ended.
        package var isEnded: Bool { event.isFinished && replies.allSatisfy(\.hasEnded) }
    }

    /// The latest message or replay with this id; nil when the journal has none.
    ///
    /// Reads the whole journal, on a queue of its own. Throws what reading the journal throws.
    package func trace(of message: MessageID, to business: BusinessID) async throws -> Trace? {
        // A record may still be on its way to the file.
        await journal.flush()
        let events = try await files.eventsOnQueue {
            $0.id == message && $0.business == business && $0.outboundKind == nil && !$0.isReplyFailure
        }
        guard let event = events.last else { return nil }
        let names = event.replies.indices.map { ReplyID(record: event.record, index: $0) }
        return Trace(event: event, replies: names.isEmpty ? [] : try await files.repliesOnQueue(names))
    }
}

extension JournalReply {
    fileprivate var hasEnded: Bool { status != .queued }
}
