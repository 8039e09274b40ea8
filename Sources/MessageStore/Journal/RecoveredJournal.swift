import BalloonPOSIX
import BusinessMessages

/// The state of a journal with the two tables that a running store keeps elsewhere: known messages and assignments.
struct RecoveredJournal: Sendable {
    var state: JournalState
    var index: MessageIndex
    private(set) var assignments: AssignmentTable

    /// Creates the state of an empty journal, with the limits of this configuration.
    init(_ configuration: StoreConfiguration) {
        state = JournalState()
        assignments = AssignmentTable()
        index = MessageIndex(
            window: configuration.deduplicationWindow,
            maximumCount: configuration.maximumRememberedMessages,
            folder: DataDirectory(path: configuration.directory).knownMessages)
    }

    /// Restores the state from a snapshot, as ``JournalState`` does.
    init(_ snapshot: JournalSnapshot, first: UInt64, records: [(JournalRecord, JournalSnapshot.Line)]) {
        state = JournalState(snapshot, first: first, records: records)
        index = snapshot.index
        index.forget(before: first)
        assignments = snapshot.assignments
    }

    /// The snapshot of the state after `lastRecord`, still without segments.
    func snapshot(through lastRecord: UInt64) -> JournalSnapshot {
        JournalSnapshot(of: state, index: index, assignments: assignments, through: lastRecord)
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
    mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        do {
            let open = state
            assignments.apply(record, number: number, segment: location.segment) { open.withUnfinished($0) }
        }
        // While the first of two messages with the same identity is unfinished, the second is ignored. If the first
        // has ended, the second was accepted as a new message after the index had dropped the first.
        if let identity = record.identity,
            let first = index.recover(identity.key, record: number, at: identity.at ?? .now()),
            let message = record.message, state[first]?.state.isUnended == true
        {
            return state.ignore(message, number: number, at: location)
        }
        if let of = record.reachedHandlerOf, let message = state[of], message.state.end == nil {
            assignments.finish(of, of: message.conversation)
        }
        state.apply(record, number: number, at: location)
    }
}
