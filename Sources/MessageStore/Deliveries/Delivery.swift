package import BalloonPOSIX
package import BusinessMessages

/// One event for one handler, leased to the caller until it is postponed or finished.
package struct Delivery: Sendable {
    let lease: Lease
    let texts: MessageRecords
    /// The message's record number in the journal: the delivery's identity.
    package var record: UInt64 { lease.pending.record }
    var conversation: ConversationKey { lease.conversation }
    /// The message's id.
    package var id: MessageID { texts.id }
    /// The attributes of the message.
    package var attributes: ReceivedAttributes { texts.attributes }
    /// The message, with its payload if a reference to the payload was resolved; otherwise as received.
    package var message: [UInt8] { texts.message }
    /// The reason why the payload behind the message's reference could not be downloaded; nil without such a failure.
    package var referenceFailure: String? { texts.referenceFailure }
    /// The results of the message's attachments, in order; nil until they are recorded.
    package var files: [RecordedFile]?
    /// The number of this attempt, from 1.
    package var attempt: Int { Int(lease.pending.attempt) }
    /// The kind under which the message was recorded; nil for a replay.
    package var kind: Kind? { lease.pending.recording.kind }
    /// The event that was decoded when the message was recorded; nil when it is no longer in memory.
    package var event: InboundEvent? { lease.pending.event?.event }
    /// The conversation that the message begins; nil when it continues one, and for a replay.
    package var begins: NewConversation? { lease.pending.begins }
    /// The id of the recent message whose choice this message repeats; no handler is called then.
    package var original: MessageID? { lease.pending.recording.original }
    /// The outcome that an earlier attempt decided; the handler must not be called again.
    package var decided: DecidedOutcome? { texts.decided?.outcome }
    /// The arrival time.
    package var receivedAt: Timestamp { texts.receivedAt }
    /// Whether the message arrived before the store was opened.
    package var isRecovered: Bool { lease.pending.isRecovered }
    /// Whether the delivery replays a finished message at an operator's request.
    package var isReplay: Bool { lease.pending.isReplay }
    /// Whether the delivery reports a failed reply to the handler: the message is then
    /// `{"reply":"…","inReplyTo":"…","kind":"text","status":"refused","httpStatus":400,"reason":"…","attempts":1}`.
    package var isReplyFailure: Bool { lease.pending.isReplyFailure }
    /// Whether the delivery is outside its conversation's order, so that later deliveries do not wait for it.
    package var isParked: Bool { lease.pending.isParked }
    /// Whether an earlier message of the conversation was parked, and may be delivered later, or was removed.
    package var isAfterGap: Bool { lease.pending.isAfterGap }
    /// The number of the first line that no handler has seen, for the first event after a person had the
    /// conversation.
    package let afterPerson: Int?
    /// How often the process crashed while it recorded or delivered this message and no other.
    package var crashes: Int { Int(lease.pending.crashes) }
    /// Whether the delivery may have crashed the last process, and has not yet run without a crash.
    package var isSuspect: Bool { lease.pending.isSuspect }
    /// The record of the decided outcome; 0 while no outcome is decided.
    var decision: UInt64 { texts.decided?.record ?? 0 }
    var location: RecordLocation { lease.pending.location }
    var act: ReceivedMessage.Act { lease.pending.act }

    init(lease: Lease, texts: MessageRecords, afterPerson: Int?) {
        self.lease = lease
        self.texts = texts
        self.afterPerson = afterPerson
        files = texts.files
    }

    /// Whether the message is a record for people, which no handler gets; see ``InternalMessage``.
    package var isInternal: Bool { act == .internal }

    /// The receiving business.
    package var business: BusinessID { conversation.business }
    /// The customer who sent the message.
    package var customer: CustomerID { conversation.customer }
}
