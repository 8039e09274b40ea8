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
    /// The message, with its payload if a reference to the payload was resolved; otherwise as received.
    package let message: [UInt8]
    /// The state of the message's payload reference.
    package let reference: ReferenceState
    /// The results of the message's attachments, in order; nil until they are recorded.
    package var files: [RecordedFile]?
    /// The number of this attempt, from 1.
    package let attempt: Int
    /// The kind under which the message was recorded; nil for a replay.
    package let kind: Kind?
    /// The event that was decoded when the message was recorded; nil when it is no longer in memory.
    package let event: InboundEvent?
    /// The conversation that the message begins; nil when it continues one, and for a replay.
    package let begins: NewConversation?
    /// The id of the recent message whose choice this message repeats; no handler is called then.
    package let original: MessageID?
    /// The outcome that an earlier attempt decided; the handler must not be called again.
    package let decided: DecidedOutcome?
    /// The arrival time.
    package let receivedAt: Timestamp
    /// Whether the message arrived before the store was opened.
    package let isRecovered: Bool
    /// Whether the delivery replays a finished message at an operator's request.
    package let isReplay: Bool
    /// Whether the delivery reports a failed reply to the handler: the message is then
    /// `{"reply":"…","inReplyTo":"…","kind":"text","status":"refused","httpStatus":400,"reason":"…","attempts":1}`.
    package let isReplyFailure: Bool
    /// Whether the delivery is outside its conversation's order, so that later deliveries do not wait for it.
    package let isParked: Bool
    /// Whether an earlier message of the conversation was parked, and may be delivered later, or was removed.
    package let isAfterGap: Bool
    /// The number of the first line that no handler has seen, for the first event after a person had the
    /// conversation.
    package let afterPerson: Int?
    /// How often the process crashed while it recorded or delivered this message and no other.
    package let crashes: Int
    /// Whether the delivery may have crashed the last process, and has not yet run without a crash.
    package let isSuspect: Bool
    /// The record of the decided outcome; 0 while no outcome is decided.
    let decision: UInt64
    let location: RecordLocation
    let act: ReceivedMessage.Act

    /// Whether the message is a record for people, which no handler gets; see ``InternalMessage``.
    package var isInternal: Bool { act == .internal }

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
        begins = pending.begins
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
