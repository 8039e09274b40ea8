package import BusinessMessages

/// A message that a business sent of its own accord, with its end.
package struct SentMessage: Sendable {
    /// The customer who gets it.
    package let customer: CustomerID
    /// The SHA-256 of the request that brought it, in hexadecimal; nil without one.
    package let requestDigest: String?
    /// The outcome; nil while the message is queued.
    package let result: ReplyResult?
}

extension Store {
    /// The message with this id that the business sent of its own accord; nil when the deduplication window has none.
    ///
    /// A message that an operator sent again has the outcome of the latest attempt. Reads the journal from its end to the
    /// message, and of segments that were read before only the appended part.
    package func sentMessage(_ id: MessageID, of business: BusinessID) async throws -> SentMessage? {
        guard let record = deduplicator.record(of: MessageKey(business: business, id: id)) else { return nil }
        if let queued = try queuedMessage(ReplyID(record: record, index: 0)) { return queued }
        // A record may still be on its way to the file.
        await journal.flush()
        let (index, reader) = (deliveryIndex, reader)
        return try await index.onQueue { () throws(StoreError) in
            guard let state = try index.state(of: record), state.outboundKind != nil else { return nil }
            var reply = try JournalReply(state, index: 0, from: reader)
            let line = try reader.line(at: state.location).root
            // Each retry is a later record, so that the loop ends.
            while let retry = reply.retriedAs, let state = try index.state(of: retry) {
                reply = try JournalReply(state, index: 0, from: reader)
            }
            return SentMessage(
                customer: reply.customer, requestDigest: line["request"]?.string,
                result: ReplyResult(
                    name: reply.status.rawValue, status: reply.httpStatus, reason: reply.reason))
        }
    }

    /// The message of a reply whose line is not written yet, from its record; nil for another reply.
    private func queuedMessage(_ id: ReplyID) throws(StoreError) -> SentMessage? {
        guard let item = outbox.item(id), case .own(let place) = item.place,
            let conversation = outbox.progress(of: id)?.conversation
        else { return nil }
        return SentMessage(
            customer: conversation.customer,
            requestDigest: try reader.line(at: place).root["request"]?.string,
            result: item.end?.result)
    }

    /// The outcome of a message that the business sent of its own accord, while the conversation's file does not have its
    /// line: nil inside while the message is queued, nil for any other message; never blocks.
    ///
    /// `conversation` is the name of its file.
    package func unwrittenOutcome(
        of id: MessageID, of business: BusinessID, in conversation: String
    ) -> ReplyResult?? {
        guard let record = deduplicator.record(of: MessageKey(business: business, id: id)),
            let progress = outbox.progress(of: ReplyID(record: record, index: 0)),
            ConversationFiles.name(of: progress.conversation.customer) == conversation
        else { return nil }
        return .some(progress.result)
    }
}

extension DeliveryIndex {
    /// The state of the message with this record; nil when the journal does not have it any more.
    fileprivate func state(of record: UInt64) throws(StoreError) -> MessageState? {
        var found: MessageState?
        _ = try walk(before: record + 1, downTo: record) { event throws(StoreError) in
            if event.state.record == record { found = event.state }
            return found == nil
        }
        return found
    }
}
