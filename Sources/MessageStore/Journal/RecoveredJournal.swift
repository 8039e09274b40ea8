import BalloonPOSIX
import BusinessMessages

/// The state of a journal with the known messages, which a running store keeps elsewhere.
struct RecoveredJournal: Sendable {
    var state: JournalState
    var index: MessageIndex

    /// Creates the state of an empty journal, with the limits of this configuration.
    init(_ configuration: StoreConfiguration) {
        state = JournalState()
        index = MessageIndex(
            window: configuration.deduplicationWindow,
            maximumCount: configuration.maximumRememberedMessages,
            folder: DataDirectory(path: configuration.directory).knownMessages)
    }

    /// Restores the state from a snapshot, as ``JournalState`` does.
    init(_ snapshot: JournalSnapshot, first: UInt64, lines: [LocatedRecord]) {
        state = JournalState(snapshot, first: first, lines: lines)
        index = snapshot.index
        index.forget(before: first)
    }

    /// The messages whose delivery has not ended, in the order of their records.
    var undelivered: [JournalState.Message] { state.messages { !$0.isDelivered } }
    /// The messages with unfinished replies, in the order in which the replies were decided.
    var withQueuedReplies: [JournalState.Message] {
        state.messages(\.hasQueuedReply)
            .sorted { ($0.state.decision?.record ?? 0) < ($1.state.decision?.record ?? 0) }
    }
    /// The messages whose conversation lines may be missing from the files, in the order of their records.
    var unwritten: [JournalState.Message] { state.messages { $0.kind != nil || $0.isReplyFailure } }

    /// Applies a record; a record of an unknown type has no effect.
    mutating func apply(_ record: LocatedRecord) {
        // While the first of two messages with the same identity is unfinished, the second is ignored. If the first
        // has ended, the second was accepted as a new message after the index had dropped the first.
        let first = record.record.identity.flatMap {
            index.recover($0.key, record: record.number, at: $0.at ?? .now())
        }
        let isRepeated = first.flatMap { state[$0]?.state.isUnended } ?? false
        state.apply(record, isRepeated: isRepeated)
    }
}
