import BalloonPOSIX

/// A record on its way to the journal's writer.
struct JournalEntry: Sendable {
    /// The record without number, batch and checksum: an object that begins with `"type"`.
    let body: [UInt8]
    /// Who is told when the record is on disk, or that it is not.
    let waiter: Waiter
    /// What the record means for the segments of the journal once it is durable.
    var effect: Effect?

    /// What a durable record changes in the ledger of segments.
    enum Effect: Sendable {
        /// A message begins.
        case message
        /// So many replies of a message in this segment were decided.
        case replies(Int, segment: UInt64)
        /// A delivery, or a reply, of a message in this segment ended.
        case end(segment: UInt64, deadLetter: DeadLetter?)
        /// A reply of a message in this segment failed, and its handler is told: an event begins.
        case reportedEnd(segment: UInt64, deadLetter: DeadLetter)
        /// A dead letter was dropped or retried.
        case decision(about: DeadLetter)
        /// Conversations are on disk up to this record.
        case checkpoint(through: UInt64)
    }

    /// Who waits for a record.
    ///
    /// What nobody waits for is lazy: it goes with the next batch and is kept for another when that fails.
    enum Waiter: Sendable {
        /// A sender, for its answer.
        case sender(AcceptedMessage, AppendCompletion)
        /// A task.
        case task(CheckedContinuation<JournalledRecord, any Error>)
        /// A task that writes so many in one batch, of which this is the first.
        case tasks(CheckedContinuation<[JournalledRecord], any Error>, count: Int)
        /// The task of an entry before it.
        case same
        /// Nobody.
        case nobody
    }

    var isLazy: Bool {
        switch waiter {
        case .nobody: true
        case .sender, .task, .tasks, .same: false
        }
    }
}

/// A message that waits for its sync.
struct AcceptedMessage: Sendable {
    let key: MessageKey
    let message: ReceivedMessage

    var conversation: ConversationKey {
        ConversationKey(business: message.business, customer: message.customer)
    }
}
