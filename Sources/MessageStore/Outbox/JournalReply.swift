import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// A reply that was decided, and what became of it, as the journal tells.
package struct JournalReply: Sendable {
    /// Its name: the record that decided it and its index.
    package let id: ReplyID
    /// When it was decided.
    package let decidedAt: Timestamp
    /// What became of it.
    package let status: ReplyState.Status
    /// The gateway's HTTP status, when one came.
    package let httpStatus: Int?
    /// Why it ended as it did, where a reason is known.
    package let reason: String?
    /// How many attempts to send it are known.
    package let attempts: Int
    /// When the next attempt is due.
    package let next: Timestamp?
    /// The record as which it is sent again; nil when it is not.
    package let retriedAs: UInt64?
    private let text: ReplyText

    /// The business that sends it.
    package var business: BusinessID { text.business }
    /// The customer whom it is for.
    package var customer: CustomerID { text.customer }
    /// The message's own id, the same in every attempt.
    package var messageID: MessageID { text.reply.id }
    /// The message's kind.
    package var kind: Kind { text.reply.kind }
    /// The id of the message that it answers; nil for a message of the business's own accord.
    package var inReplyTo: MessageID? { text.inReplyTo }
    /// The message as it goes to the gateway, a JSON object.
    package var message: [UInt8] { text.reply.message }
    /// Whether somebody must decide what is to be done.
    package var isDeadLetter: Bool { status.isDeadLetter }
    var isFromPerson: Bool { text.isFromPerson }
    var attributes: ReceivedAttributes { text.attributes }

    /// Reads one reply of a message's state; throws when a line cannot be read, or has no such reply.
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
            (decidedAt, attempts, httpStatus) = (reply.decidedAt, reply.attempts, reply.httpStatus)
            (status, reason) = (reply.status, reply.reason)
            return
        }
        // A copy says itself what became of the reply; what an operator decided since comes after it.
        let line = try reader.line(at: carried).root
        decidedAt = line.timestamp("at") ?? reply.decidedAt
        attempts = line["attempts"]?.int ?? 0
        httpStatus = line["status"]?.int
        reason = line["reason"]?.string
        let result = line["result"]?.string.flatMap(ReplyState.Status.init(rawValue:))
        status = reply.status.isDeadLetter ? result ?? reply.status : reply.status
    }

    /// The message as it is sent again: with the same id and bytes, or as `edited` says.
    func retry(as edited: DecidedReply?) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: edited?.id ?? messageID, attributes: attributes,
            message: edited?.message ?? message, outboundKind: edited?.kind ?? kind,
            isFromPerson: isFromPerson)
    }
}

extension MessageState {
    /// Where the text of a reply stands; nil when there is no such reply.
    func place(ofReply index: Int) -> ReplyText.Place? {
        guard replies.indices.contains(index) else { return nil }
        if let carried = replies[index].carried { return .own(carried) }
        guard let decision else { return nil }
        return outboundKind == nil ? .outcome(decision.location, event: location) : .own(location)
    }
}
