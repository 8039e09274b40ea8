import BalloonPOSIX

/// A record on its way to the journal's writer.
struct JournalEntry: Sendable {
    /// The record without number, batch and checksum: an object that begins with `"type"`.
    let body: [UInt8]
    /// Who is told when the record is on disk, or that it is not.
    let waiter: Waiter

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
        /// Nobody; it ends a delivery.
        case ended(EndedDelivery)
        /// Nobody; it says how far conversations are on disk.
        case checkpoint(through: UInt64)
    }

    var isLazy: Bool {
        switch waiter {
        case .nobody, .ended, .checkpoint: true
        case .sender, .task, .tasks, .same: false
        }
    }
}

/// What the store remembers of a message while it waits for its sync.
struct AcceptedMessage: Sendable {
    let key: MessageKey
    let conversation: ConversationKey
    let hasPayloadReference: Bool
    let isOutbound: Bool
    let act: ReceivedMessage.Act
}
