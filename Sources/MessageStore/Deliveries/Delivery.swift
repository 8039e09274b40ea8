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
    /// The outcome, when an earlier attempt decided it; the handler must not be asked again.
    package let decided: DecidedOutcome?
    /// What is known about the decided replies, by their index; the others are to be sent.
    package let replyResults: [Int: ReplyResult]
    /// When the message came in.
    package let receivedAt: Timestamp
    /// Whether the message came in before the store was opened.
    package let isRecovered: Bool
    /// Whether somebody asked to hand over again what was finished before.
    package let isReplay: Bool
    /// The kind of a message that goes out unasked; it was decided when it was stored, and no handler sees it.
    package let outboundKind: Kind?
    /// Whether a person, not a program, wrote a message that goes out unasked.
    package let isFromPerson: Bool
    /// Whether it waits outside its conversation's order, so that others do not wait for it.
    package let isParked: Bool
    /// Whether one that came before it in its conversation was parked and may come later.
    package let isAfterGap: Bool
    /// How often the process ended while a handler had it.
    package let crashes: Int
}

/// What became of a payload reference.
package enum ReferenceState: Hashable, Sendable {
    /// The message has none.
    case none
    /// The payload is in the message.
    case resolved
    /// The payload could not be had; the message is as it came.
    case failed(reason: String)
}

/// A message whose payload must be fetched, handed out once per life of the store.
package struct PendingReference: Sendable {
    /// The message's record number in the journal.
    package let record: UInt64
    /// The business it is for.
    package let business: BusinessID
    /// The customer it is from.
    package let customer: CustomerID
    /// The message's id.
    package let id: MessageID
    /// The message as it came.
    package let message: [UInt8]
    /// When the message came in.
    package let receivedAt: Timestamp
}

/// The end of a payload reference.
package enum Resolution: Hashable, Sendable {
    /// The whole message, a JSON object with the payload in place of the reference.
    case resolved(message: [UInt8])
    /// Why there is no payload: a short constant, never the customer's text.
    case failed(reason: String)
}
