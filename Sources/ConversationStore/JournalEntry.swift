/// A record on its way to the journal's writer.
struct JournalEntry: Sendable {
    /// The record without number, batch and checksum: an object that begins with `"type"`.
    let body: [UInt8]
    /// Who is told when the record is on disk, or that it is not.
    let waiter: Waiter

    /// Who waits for a record.
    enum Waiter: Sendable {
        /// A sender, for its answer.
        case sender(AcceptedMessage, AppendCompletion)
        /// A task.
        case task(CheckedContinuation<JournalledRecord, any Error>)
        /// Nobody: the record is lazy, it goes with the next batch and is kept for another when that fails.
        case nobody
    }

    var isLazy: Bool {
        if case .nobody = waiter { true } else { false }
    }
}

/// What the store remembers of a message while it waits for its sync.
struct AcceptedMessage: Sendable {
    let key: MessageKey
    let conversation: ConversationKey
    let hasPayloadReference: Bool
    let isOutbound: Bool
}
