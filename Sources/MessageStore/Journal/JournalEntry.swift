import BalloonPOSIX
import BusinessMessages

/// A record on its way to the journal's writer.
struct JournalEntry: Sendable {
    /// The record without its number, batch and checksum: a JSON object that begins with `"type"`.
    let body: [UInt8]
    /// The receiver of the result.
    let waiter: Waiter
    /// The change that the record causes in the ledger of segments once it is on disk.
    var effect: Effect?
    /// The change that the record causes in its conversation's assignment once it is on disk.
    var assignment: AssignmentEffect?

    /// A change in the ledger of segments.
    enum Effect: Sendable {
        /// A message was stored, and its delivery is unfinished.
        case message
        /// A handler decided this many replies, which are still to be sent; `segment` has the message that they answer.
        case replies(Int, segment: UInt64)
        /// The delivery of a message in this segment, or one of its replies, ended.
        case end(segment: UInt64, deadLetter: DeadLetter?, of: BusinessID)
        /// A reply to a message in this segment failed, and the record also is the event that reports the
        /// failure.
        case reportedEnd(segment: UInt64, deadLetter: DeadLetter, of: BusinessID)
        /// A dead letter was dropped or retried.
        case decision(about: DeadLetter)
        /// The conversation lines of records up to this one are on disk.
        case checkpoint(through: UInt64)
    }

    /// The receiver of the result: whether the record is on disk.
    ///
    /// A record without a receiver is lazy: it is written with the next batch. When that batch fails, the
    /// record is written with a later one.
    enum Waiter: Sendable {
        /// The sender of a message, which waits for the answer to its request.
        case sender(AcceptedMessage, AppendCompletion)
        /// A task that waits for one record.
        case task(CheckedContinuation<JournalledRecord, any Error>)
        /// A task that waits for several records of one batch; this entry is the first of them.
        case tasks(CheckedContinuation<[JournalledRecord], any Error>, count: Int)
        /// A callback that must be short; it runs on the journal's queue.
        case completion(@Sendable (Result<JournalledRecord, StoreError>) -> Void)
        /// The task that waits for the previous entry.
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
