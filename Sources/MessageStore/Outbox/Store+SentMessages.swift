package import BusinessMessages
import Synchronization

/// The journal has not been read back to a message within the limits; a repeated call continues the reading.
package struct UnreadJournal: Error {}

/// A proactive message with its outcome.
package struct SentMessage: Sendable {
    /// The customer to whom the message is sent.
    package let customer: CustomerID
    /// The SHA-256 of the request that contained the message, in hexadecimal; nil without a request.
    package let requestDigest: String?
    /// The outcome; nil while the message is queued.
    package let result: ReplyResult?
}

extension Store {
    /// Returns the proactive message with this id; nil when the deduplication window has none.
    ///
    /// A message that an operator sent again has the outcome of the latest attempt. Queued messages, and
    /// those that are known as accepted, come from memory. For any other message, `limit` is called with a
    /// function that reads the journal, and decides whether to call it. That function reads for 250 ms or 64
    /// MiB, and throws ``UnreadJournal`` when that was not enough.
    package func sentMessage(
        _ id: MessageID, of business: BusinessID,
        limit: (_ read: @Sendable () async throws -> SentMessage?) async throws -> SentMessage? = {
            try await $0()
        }
    ) async throws -> SentMessage? {
        guard let record = deduplicator.record(of: MessageKey(business: business, id: id)) else { return nil }
        if let queued = try queuedMessage(ReplyID(record: record, index: 0)) { return queued }
        if let accepted = acceptedMessages[record] { return accepted }
        return try await limit { [self] in
            guard let sent = try await journalledMessage(record) else { return nil }
            acceptedMessages.insert(sent, record: record)
            return sent
        }
    }

    /// Reads the message with this record from the journal; throws ``UnreadJournal`` when the budget ends.
    func journalledMessage(
        _ record: UInt64, maximumBytes: Int = ReadBudget().maximumBytes
    ) async throws -> SentMessage? {
        try await readingIndex { index throws(StoreError) -> Result<SentMessage?, UnreadJournal> in
            let budget = ReadBudget(maximumBytes: maximumBytes)
            var reply: JournalReply?
            var digest: String?
            var next: UInt64? = record
            // The loop ends, because each retry has a later record.
            while let record = next {
                switch try index.state(of: record, budget) {
                case .failure(let unread): return .failure(unread)
                case .success(let state?) where reply != nil || state.outboundKind != nil:
                    if reply == nil {
                        digest = try index.reader.line(at: state.location).root["request"]?.string
                    }
                    let latest = try JournalReply(state, index: 0, from: index.reader)
                    (reply, next) = (latest, latest.retriedAs)
                case .success: next = nil
                }
            }
            return .success(
                reply.map { reply in
                    SentMessage(
                        customer: reply.customer, requestDigest: digest,
                        result: ReplyResult(
                            name: reply.status.rawValue, httpStatus: reply.httpStatus, reason: reply.reason))
                })
        }.get()
    }

    /// Returns a proactive message whose line is not written yet; nil for any other reply.
    private func queuedMessage(_ id: ReplyID) throws(StoreError) -> SentMessage? {
        guard let queued = outbox.withQueue({ $0.entry(id) }), case .own(let place) = queued.place else {
            return nil
        }
        return SentMessage(
            customer: queued.conversation.customer,
            requestDigest: try reader.line(at: place).root["request"]?.string,
            result: queued.end?.result)
    }

    /// Returns the outcome of a proactive message whose line its conversation's file lacks; never blocks.
    ///
    /// The result is `.some(nil)` while the message is queued, and nil for any other message. `conversation`
    /// is the name of the conversation's file.
    package func unwrittenOutcome(
        of id: MessageID, of business: BusinessID, in conversation: String
    ) -> ReplyResult?? {
        guard let record = deduplicator.record(of: MessageKey(business: business, id: id)),
            let queued = outbox.withQueue({ $0.entry(ReplyID(record: record, index: 0)) }),
            ConversationFiles.name(of: queued.conversation.customer) == conversation
        else { return nil }
        return .some(queued.end?.result)
    }
}

extension DeliveryIndex {
    /// Reads the state of the message with this record; nil when the journal no longer has it.
    fileprivate func state(
        of record: UInt64, _ budget: ReadBudget
    ) throws(StoreError) -> Result<MessageState?, UnreadJournal> {
        var found: MessageState?
        let next = try walk(of: [record], before: record + 1, downTo: record, budget: budget) {
            event throws(StoreError) in
            if event.state.record == record { found = event.state }
            return found == nil
        }
        if found == nil, let next, next > record { return .failure(UnreadJournal()) }
        return .success(found)
    }
}

/// The proactive messages that are known as accepted, which never changes.
///
/// With them, a program that repeats requests does not cause a read of the journal for each.
final class AcceptedMessages: Sendable {
    private let messages = Mutex<[UInt64: SentMessage]>([:])
    private static let maximumCount = 4096

    subscript(_ record: UInt64) -> SentMessage? { messages.withLock { $0[record] } }

    /// Adds a message if it was accepted.
    func insert(_ message: SentMessage, record: UInt64) {
        guard message.result?.status == .accepted else { return }
        messages.withLock { messages in
            if messages.count >= Self.maximumCount { messages = [:] }
            messages[record] = message
        }
    }
}
