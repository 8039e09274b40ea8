package import BusinessMessages

extension Store {
    /// A message and its replies, as the journal has them now.
    package struct Trace: Sendable {
        /// The message and the state of its delivery.
        package let event: JournalEvent
        /// The replies to the message, in order.
        package let replies: [JournalReply]

        /// Whether the delivery and every reply have ended.
        package var isEnded: Bool { event.isFinished && replies.allSatisfy(\.hasEnded) }
    }

    /// Returns the latest message or replay with this id; nil when the journal has none.
    ///
    /// Reads the journal from its end to the message. Reads the whole journal when the message is older than
    /// the deduplication window. Throws the errors of reading the journal.
    package func trace(of message: MessageID, to business: BusinessID) async throws -> Trace? {
        if let trace = try await latestTrace(of: message, to: business) { return trace }
        let record = try await reading { files in
            try files.events {
                $0.id == message && $0.business == business && $0.outboundKind == nil && !$0.isReplyFailure
            }.last?.record
        }
        guard let record else { return nil }
        return try await trace(of: record).trace
    }

    /// Returns the latest message or replay with this id; nil when the deduplication window does not have the
    /// id.
    private func latestTrace(of message: MessageID, to business: BusinessID) async throws -> Trace? {
        // A recently appended record may not be in the file yet.
        await journal.flush()
        guard var record = deduplicator.record(of: MessageKey(business: business, id: message)) else {
            return nil
        }
        var trace: Trace?
        while let found = try await self.trace(of: record).trace, found.event.outboundKind == nil {
            trace = found
            // A replay has a higher record than the message that it replays, so the loop ends.
            guard let replay = found.event.replayedAs, replay > record else { break }
            record = replay
        }
        return trace
    }
}

extension JournalReply {
    fileprivate var hasEnded: Bool { status != .queued }
}
