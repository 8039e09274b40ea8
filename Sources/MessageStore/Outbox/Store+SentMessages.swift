package import BusinessMessages
import Synchronization

/// The journal is not read as far as a message yet; a repetition continues.
package struct UnreadJournal: Error {}

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
    /// A message that an operator sent again has the outcome of the latest attempt. A queued message, and one that was found
    /// accepted before, comes from memory. For another one `limit` is called, which may call its argument: this reads the
    /// journal for 250 ms or 64 MiB, and throws ``UnreadJournal`` when that was not enough.
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

    /// The message with this record, from the journal; throws ``UnreadJournal`` when the budget was not enough.
    func journalledMessage(
        _ record: UInt64, budget: DeliveryIndex.Budget = DeliveryIndex.Budget()
    ) async throws -> SentMessage? {
        // A record may still be on its way to the file.
        await journal.flush()
        let (index, reader) = (deliveryIndex, reader)
        return try await index.onQueue { () throws(StoreError) -> Result<SentMessage?, UnreadJournal> in
            let deadline = ContinuousClock.now + budget.time
            var reply: JournalReply?
            var digest: String?
            var next: UInt64? = record
            // Each retry is a later record, so that the loop ends.
            while let record = next {
                switch try index.state(of: record, budget, until: deadline) {
                case .failure(let unread): return .failure(unread)
                case .success(let state?) where reply != nil || state.outboundKind != nil:
                    if reply == nil { digest = try reader.line(at: state.location).root["request"]?.string }
                    let latest = try JournalReply(state, index: 0, from: reader)
                    (reply, next) = (latest, latest.retriedAs)
                case .success: next = nil
                }
            }
            return .success(
                reply.map { reply in
                    SentMessage(
                        customer: reply.customer, requestDigest: digest,
                        result: ReplyResult(
                            name: reply.status.rawValue, status: reply.httpStatus, reason: reply.reason))
                })
        }.get()
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
    fileprivate func state(
        of record: UInt64, _ budget: Budget, until deadline: ContinuousClock.Instant
    ) throws(StoreError) -> Result<MessageState?, UnreadJournal> {
        var found: MessageState?
        var budget = budget
        budget.time = ContinuousClock.now.duration(to: deadline)
        let next = try walk(of: [record], before: record + 1, downTo: record, budget: budget) {
            event throws(StoreError) in
            if event.state.record == record { found = event.state }
            return found == nil
        }
        if found == nil, let next, next > record { return .failure(UnreadJournal()) }
        return .success(found)
    }
}

/// The messages of businesses' own accord that were accepted lately, or found accepted, which is final.
///
/// So a program that repeats requests does not read the journal for each.
final class AcceptedMessages: Sendable {
    private let messages = Mutex<[UInt64: SentMessage]>([:])
    private static let maximumCount = 4096

    subscript(_ record: UInt64) -> SentMessage? { messages.withLock { $0[record] } }

    /// Adds a message if it was accepted.
    func insert(_ message: SentMessage, record: UInt64) {
        guard case .accepted? = message.result else { return }
        messages.withLock { messages in
            if messages.count >= Self.maximumCount { messages = [:] }
            messages[record] = message
        }
    }
}
