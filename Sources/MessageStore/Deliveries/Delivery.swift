package import BalloonPOSIX
package import BusinessMessages

/// One event on its way to one handler, leased to the caller until it is postponed or finished.
package struct Delivery: Sendable {
    /// The message's record number in the journal: the delivery's identity.
    package let record: UInt64
    /// The business it is for.
    package let business: BusinessID
    /// The customer it is from.
    package let customer: CustomerID
    /// The message's id.
    package let id: MessageID
    /// What came beside the message.
    package let attributes: ReceivedAttributes
    /// The message: with its payload in place when that was resolved, else as it came.
    package let message: [UInt8]
    /// What became of the message's payload reference.
    package let reference: ReferenceState
    /// What became of the message's attachments, in their order; nil until that is recorded.
    package var files: [RecordedFile]?
    /// Which attempt this is, from 1.
    package let attempt: Int
    /// The kind as which the message was recorded; nil for a replay.
    package let kind: Kind?
    /// What the message was decoded to when it was recorded, if that is still in memory.
    package let event: InboundEvent?
    /// The message of moments before that this one repeats, so that no handler is asked.
    package let original: MessageID?
    /// The outcome, when an earlier attempt decided it; the handler must not be asked again.
    package let decided: DecidedOutcome?
    /// When the message came in.
    package let receivedAt: Timestamp
    /// Whether the message came in before the store was opened.
    package let isRecovered: Bool
    /// Whether an operator asked to hand over again what was finished before.
    package let isReplay: Bool
    /// Whether it tells the handler that a reply failed: the message is then `{"reply":"…","inReplyTo":"…","kind":"text",`
    /// `"status":"refused","httpStatus":400,"reason":"…","attempts":1}`.
    package let isReplyFailure: Bool
    /// Whether it waits outside its conversation's order, so that others do not wait for it.
    package let isParked: Bool
    /// Whether one that came before it in its conversation was parked and may come later.
    package let isAfterGap: Bool
    /// How often the process ended while its handler had it.
    package let crashes: Int
    /// The record of the decided outcome.
    let decision: UInt64
    let location: RecordLocation
    let act: ReceivedMessage.Act

    init(_ lease: Lease, _ texts: MessageRecords) {
        let pending = lease.pending
        record = pending.record
        business = lease.conversation.business
        customer = lease.conversation.customer
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
        crashes = Int(pending.crashes)
        decision = texts.decided?.record ?? 0
        location = pending.location
        act = pending.act
    }
}
