import BalloonPOSIX
import BusinessMessages

/// A record that is being appended.
struct AppendedRecord: Sendable {
    /// The parsed form that a reader of the journal gets from ``body``.
    let meaning: JournalRecord
    /// The record without its number, batch and checksum: a JSON object that begins with `"type"`.
    let body: [UInt8]
}

/// A record on its way to the journal's writer.
///
/// A class, because a batch is read by each part that settles it, and a copy would copy the whole message.
final class JournalEntry: Sendable {
    let record: AppendedRecord
    /// The receiver of the result.
    let waiter: Waiter

    init(record: AppendedRecord, waiter: Waiter) {
        self.record = record
        self.waiter = waiter
    }

    var body: [UInt8] { record.body }

    /// The receiver of the result: whether the record is on disk.
    ///
    /// A record without a receiver is lazy: it is written with the next batch. When that batch fails, the
    /// record is written with a later one.
    enum Waiter: Sendable {
        /// The sender of a message, which waits for the answer to its request.
        case sender(AcceptedMessage, AppendCompletion)
        /// A callback for this record; it must be short, and runs on the journal's queue.
        case completion(@Sendable (Result<JournalledRecord, StoreError>) -> Void)
        /// A callback for several records of one batch, of which this entry is the first.
        case several(count: Int, @Sendable (Result<[JournalledRecord], StoreError>) -> Void)
        /// The callback of an earlier entry.
        case same
        /// No receiver.
        case none
    }

    var isLazy: Bool {
        switch waiter {
        case .none: true
        case .sender, .completion, .several, .same: false
        }
    }
}

/// An accepted message that waits for its sync.
struct AcceptedMessage: Sendable {
    let key: MessageKey
    let message: ReceivedMessage

    let conversation: ConversationKey
}
