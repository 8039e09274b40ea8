package import BalloonPOSIX
package import BusinessMessages

/// A durable message whose line is not in its conversation yet.
package struct UnrecordedMessage: Sendable {
    let texts: MessageRecords
    let lease: Lease

    /// The message's record number in the journal.
    package var record: UInt64 { lease.pending.record }
    /// The business that the message is for.
    package var business: BusinessID { lease.conversation.business }
    /// The customer who sent the message.
    package var customer: CustomerID { lease.conversation.customer }
    /// The message's id.
    package var id: MessageID { texts.id }
    /// The attributes from the request's headers.
    package var attributes: ReceivedAttributes { texts.attributes }
    /// The message's JSON, with the payload in place of its reference if the reference was resolved.
    package var message: [UInt8] { texts.message }
    /// The time of the message's arrival.
    package var receivedAt: Timestamp { texts.receivedAt }
    /// Whether a handler decided the message's outcome in an earlier process.
    package var isDecided: Bool { lease.pending.isDecided }
    /// How often the process crashed while it recorded or delivered this message and no other.
    package var crashes: Int { Int(lease.pending.crashes) }
    /// Whether the message was being resolved or recorded when the last process crashed.
    package var isSuspect: Bool { lease.pending.isRecordingSuspect }
    /// The author of an internal message; nil for a customer's.
    var author: MessageAuthor? { texts.author }

    /// Whether the message is a record for people; see ``InternalMessage``.
    package var isInternal: Bool { lease.pending.act == .internal }
}

/// The proof that a message was recorded: its line was written, or its file refused the line repeatedly.
package struct RecordedLine: Sendable {
    let recording: PendingDelivery.Recording
    let event: DecodedEvent?
    /// The conversation that the message begins; nil when it continues one.
    package var begins: NewConversation?
}
