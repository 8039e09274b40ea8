package import BalloonPOSIX
package import BusinessMessages

/// One event for one handler, leased to the caller until it is postponed or finished.
package struct Delivery: Sendable {
    /// The message's record number in the journal: the delivery's identity.
    package let record: UInt64
    let conversation: ConversationKey
    /// The message's id.
    package let id: MessageID
    /// The attributes of the message.
    package let attributes: ReceivedAttributes
    /// The message, including its payload when that was resolved, otherwise as received.
    package let message: [UInt8]
    /// The state of the message's payload reference.
    package let reference: ReferenceState
    /// The results of the message's attachments, in order; nil before they are recorded.
    package var files: [RecordedFile]?
    /// The number of this attempt, from 1.
    package let attempt: Int
    /// The kind under which the message was recorded; nil for a replay.
    package let kind: Kind?
    /// The event decoded for recording, if it is still in memory.
    package let event: InboundEvent?
    /// The recent message that this one repeats, so that no handler is called.
    package let original: MessageID?
    /// The outcome of an earlier attempt; the handler must not be called again.
    package let decided: DecidedOutcome?
    /// The arrival time.
    package let receivedAt: Timestamp
    /// Whether the message arrived before the store was opened.
    package let isRecovered: Bool
    /// Whether an operator requested another delivery of a finished message.
    package let isReplay: Bool
    /// Whether the delivery reports a failed reply to the handler: the message is then
    /// `{"reply":"…","inReplyTo":"…","kind":"text","status":"refused","httpStatus":400,"reason":"…","attempts":1}`.
    package let isReplyFailure: Bool
    /// Whether the delivery is outside its conversation's order, so that it does not block others.
    package let isParked: Bool
    /// Whether an earlier message of its conversation was parked and may be delivered later.
    package let isAfterGap: Bool
    /// For the first event after a person: the number of the conversation's first line that no handler has seen.
    package let afterPerson: Int?
    /// How often the process crashed while this delivery ran alone.
    package let crashes: Int
    /// Whether the delivery was leased when the last process crashed.
    package let isSuspect: Bool
    /// The record of the decided outcome.
    let decision: UInt64
    let location: RecordLocation
    let act: ReceivedMessage.Act

    /// The receiving business.
    package var business: BusinessID { conversation.business }
    /// The customer who sent the message.
    package var customer: CustomerID { conversation.customer }

    init(_ lease: Lease, _ texts: MessageRecords, afterPerson: Int?) {
        let pending = lease.pending
        record = pending.record
        conversation = lease.conversation
        id = texts.id
        attributes = texts.attributes
        message = texts.message
        reference = texts.reference
        files = texts.files
        attempt = Int(pending.attempt)
        kind = pending.recording.kind
        event = pending.event?.event
        original = pending.recording.original
        decided = texts.decided?.outcome
        receivedAt = texts.receivedAt
        isRecovered = pending.isRecovered
        isReplay = pending.isReplay
        isReplyFailure = pending.isReplyFailure
        isParked = pending.isParked
        isAfterGap = pending.isAfterGap
        self.afterPerson = afterPerson
        crashes = Int(pending.crashes)
        isSuspect = pending.isSuspect
        decision = texts.decided?.record ?? 0
        location = pending.location
        act = pending.act
    }
}
