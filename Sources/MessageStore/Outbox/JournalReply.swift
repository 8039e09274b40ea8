import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// A decided reply with its state, according to the journal.
package struct JournalReply: Sendable {
    /// The reply's identity: the record of the message that caused it, and its index.
    package let id: ReplyID
    /// The time of the decision.
    package let decidedAt: Timestamp
    /// The state of the reply.
    package let status: ReplyState.Status
    /// The gateway's HTTP status, if it answered.
    package let httpStatus: Int?
    /// The reason of the reply's end, if known.
    package let reason: String?
    /// How often the reply was tried, according to the journal.
    package let attempts: Int
    /// The time of the next attempt; nil when none is planned.
    package let next: Timestamp?
    /// The record of the message that sends the reply again; nil when it was not retried.
    package let retriedAs: UInt64?
    private let text: ReplyText

    /// The sending business.
    package var business: BusinessID { text.business }
    /// The receiving customer.
    package var customer: CustomerID { text.customer }
    /// The message's own id, the same in every attempt.
    package var messageID: MessageID { text.reply.id }
    /// The message's kind.
    package var kind: Kind { text.reply.kind }
    /// The id of the answered message; nil for a proactive message.
    package var inReplyTo: MessageID? { text.inReplyTo }
    /// The message for the gateway, a JSON object.
    package var message: [UInt8] { text.reply.message }
    /// Whether the reply is a dead letter, which needs an operator's decision.
    package var isDeadLetter: Bool { status.isDeadLetter }
    /// The author, if the record names one.
    package var author: MessageAuthor? { text.author }
    var attributes: ReceivedAttributes { text.attributes }

    /// Reads one reply to a message from the journal; throws when a line is unreadable, or lacks the reply.
    init(_ state: MessageState, index: Int, from reader: SegmentReader) throws(StoreError) {
        guard let place = state.place(ofReply: index) else {
            throw .unknownReply(record: state.record, index: index)
        }
        let reply = state.replies[index]
        id = ReplyID(record: state.record, index: index)
        text = try ReplyText(id, at: place, from: reader)
        next = reply.next
        retriedAs = reply.retriedAs
        guard let carried = reply.carried else {
            (decidedAt, attempts, status) = (reply.decidedAt, reply.attempts, reply.status)
            (httpStatus, reason) = (reply.result?.httpStatus, reply.result?.reason)
            return
        }
        // The copy in a later segment contains the reply's result; an operator's later decision overrides it.
        let line = try reader.line(at: carried).root
        decidedAt = line.timestamp("at") ?? reply.decidedAt
        attempts = line["attempts"]?.int ?? 0
        httpStatus = line["status"]?.int
        reason = line["reason"]?.string
        let result = line["result"]?.string.flatMap(ReplyState.Status.init(rawValue:))
        status = reply.status.isDeadLetter ? result ?? reply.status : reply.status
    }

    /// Returns the message that sends the reply again, with the same id and bytes or with those of `edited`.
    func retry(as edited: DecidedReply?) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: edited?.id ?? messageID, attributes: attributes,
            message: edited?.message ?? message, outboundKind: edited?.kind ?? kind,
            author: author)
    }
}

extension MessageState {
    /// Returns the place of a reply's text; nil when the reply does not exist.
    func place(ofReply index: Int) -> ReplyText.Place? {
        guard replies.indices.contains(index) else { return nil }
        if let carried = replies[index].carried { return .own(carried) }
        guard let decision else { return nil }
        return outboundKind == nil ? .outcome(decision.location, event: location) : .own(location)
    }
}
