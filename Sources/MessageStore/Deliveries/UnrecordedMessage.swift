package import BalloonPOSIX
package import BusinessMessages

/// A durable message whose line is not in its conversation yet.
package struct UnrecordedMessage: Sendable {
    /// The message's record number in the journal.
    package let record: UInt64
    /// The business that the message is for.
    package let business: BusinessID
    /// The customer who sent the message.
    package let customer: CustomerID
    /// The message's id.
    package let id: MessageID
    /// The attributes from the request's headers.
    package let attributes: ReceivedAttributes
    /// The message's JSON, with the payload in place of its reference if the reference was resolved.
    package let message: [UInt8]
    /// The state of the message's payload reference.
    package let reference: ReferenceState
    /// The time of the message's arrival.
    package let receivedAt: Timestamp
    /// Whether a handler decided the message's outcome in an earlier process.
    package let isDecided: Bool
    /// How often the process crashed while it recorded or delivered this message and no other.
    package let crashes: Int
    /// Whether the message was being resolved or recorded when the last process crashed.
    package let isSuspect: Bool
    /// The author of an internal message; nil for a customer's.
    let author: MessageAuthor?
    let lease: Lease

    /// Whether the message is a record for people; see ``InternalMessage``.
    package var isInternal: Bool { lease.pending.act == .internal }

    init(_ texts: MessageRecords, _ lease: Lease) {
        record = lease.pending.record
        business = lease.conversation.business
        customer = lease.conversation.customer
        id = texts.id
        attributes = texts.attributes
        message = texts.message
        reference = texts.reference
        receivedAt = texts.receivedAt
        author = texts.author
        isDecided = lease.pending.isDecided
        crashes = Int(lease.pending.crashes)
        isSuspect = lease.pending.isRecordingSuspect
        self.lease = lease
    }
}

/// The proof that a message was recorded: its line was written, or its file refused the line repeatedly.
package struct RecordedLine: Sendable {
    let recording: PendingDelivery.Recording
    let event: DecodedEvent?
    /// The conversation that the message begins; nil when it continues one.
    package var begins: NewConversation?
}
