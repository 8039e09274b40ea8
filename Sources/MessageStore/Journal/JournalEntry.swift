import BalloonPOSIX
import BusinessMessages

/// A record on its way to the journal's writer.
struct JournalEntry: Sendable {
    /// The record without number, batch and checksum: an object that begins with `"type"`.
    let body: [UInt8]
    /// The receiver of the result.
    let waiter: Waiter
    /// The effect of the durable record on the ledger of segments.
    var effect: Effect?
    /// The effect of the durable record on the assignment of its conversation.
    var assignment: AssignmentEffect?

    /// A change in the ledger of segments.
    enum Effect: Sendable {
        /// A message with an unfinished delivery begins.
        case message
        /// This many replies of a message in this segment were decided.
        case replies(Int, segment: UInt64)
        /// A delivery, or a reply, of a message in this segment ended.
        case end(segment: UInt64, deadLetter: DeadLetter?, of: BusinessID)
        /// A reply of a message in this segment failed, and an event that reports it to the handler begins.
        case reportedEnd(segment: UInt64, deadLetter: DeadLetter, of: BusinessID)
        /// A dead letter was dropped or retried.
        case decision(about: DeadLetter)
        /// Conversations are on disk up to this record.
        case checkpoint(through: UInt64)
    }

    /// The code that learns whether the record was written.
    ///
    /// A record without a receiver is lazy: it is written with the next batch, and again with a later batch when that write
    /// fails.
    enum Waiter: Sendable {
        /// The sender of an inbound message, which waits for its answer.
        case sender(AcceptedMessage, AppendCompletion)
        /// A task that waits for one record.
        case task(CheckedContinuation<JournalledRecord, any Error>)
        /// A task that writes several records in one batch, of which this is the first.
        case tasks(CheckedContinuation<[JournalledRecord], any Error>, count: Int)
        /// A callback that must be short; it runs on the journal's queue.
        case completion(@Sendable (Result<JournalledRecord, StoreError>) -> Void)
        /// The same task as for the previous entry.
        case same
        /// No receiver.
        case none
    }

    var isLazy: Bool {
        switch waiter {
        case .none: true
        case .sender, .task, .tasks, .completion, .same: false
        }
    }
}

/// An accepted message that waits for its sync.
struct AcceptedMessage: Sendable {
    let key: MessageKey
    let message: ReceivedMessage

    var conversation: ConversationKey {
        ConversationKey(business: message.business, customer: message.customer)
    }
}
