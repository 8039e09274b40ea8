import BalloonPOSIX
import BusinessMessages
import Synchronization

/// The state of a running store's journal, to which each durable record is applied.
///
/// Under the same lock, changes of assignments and outcomes of handlers are decided and appended; see ``run(_:endingWatch:_:)``.
final class CurrentState: Sendable {
    struct State {
        var journal: JournalState
        /// The changes that are not durable yet.
        var inFlight: [ConversationKey: ChangeInFlight] = [:]
        var watches: [ConversationKey: Watch] = [:]
        var follower: Follower?

        /// Whether no conversation has an assignment, and no change is in flight or being prepared.
        fileprivate var isUnassigned: Bool {
            journal.assignments.entries.isEmpty && inFlight.isEmpty && watches.isEmpty
        }
    }

    private let state: Mutex<State>
    /// A copy of ``State/isUnassigned``; while it is true, messages skip the lock.
    private let unassigned: Atomic<Bool>
    let opened = Timestamp.now()
    private let start = ContinuousClock.now

    init(_ state: JournalState) {
        var state = State(journal: state)
        state.journal.ledger.limitAges(to: opened)
        unassigned = Atomic(state.isUnassigned)
        self.state = Mutex(state)
    }

    /// The time from which the ages of segments are computed: the opening time of the store plus the elapsed
    /// time.
    ///
    /// The elapsed time is monotonic, so changes of the wall clock do not age segments.
    var now: Timestamp { opened.advanced(by: start.duration(to: .now)) }

    /// Whether no conversation has an assignment, and no change is in flight or being prepared; never blocks.
    var isUnassigned: Bool { unassigned.load(ordering: .acquiring) }

    /// Applies the records of a batch, and runs the steps that waited for them; runs on the journal's queue before the
    /// callers get the result.
    ///
    /// An active `feed` gets each record with its conversation. `written` returns the last record up to which
    /// every line is in its conversation's file. Returns the conversations that the batch assigned to a person or to the
    /// waiting state.
    func settle(
        _ entries: [JournalEntry], _ result: Journal.BatchResult, feed: EventFeed,
        written: (UInt64) -> UInt64
    ) -> [ConversationKey] {
        var records: [JournalledRecord]?
        if case .durable(let durable) = result { records = durable }
        let now = now
        let isFollowed = feed.isActive
        var changes: [DurableChange] = []
        var assigned: [ConversationKey] = []
        var effects: [@Sendable () -> Void] = []
        withLock { state in
            for (position, entry) in entries.enumerated() {
                let meaning = entry.record.meaning
                if let record = records?[position] {
                    if let effect = state.apply(meaning, as: record, now: now) { effects.append(effect) }
                    if isFollowed {
                        let key = state.journal.conversation(of: meaning)
                        changes.append(.record(record.number, entry.record, in: key))
                    }
                    if let key = meaning.assigns { assigned.append(key) }
                }
                if let key = meaning.assignedConversation {
                    effects += state.inFlight.removeValue(forKey: key)?.steps ?? []
                }
            }
            if let last = records?.last, state.journal.endedCount > Self.maximumEnded {
                state.journal.removeEnded(through: written(last.number))
            }
        }
        feed.add(changes)
        for effect in effects { effect() }
        return assigned
    }

    /// The number of ended messages that are kept before those with written lines are removed.
    private static let maximumEnded = 256

    /// Runs `body` on the state.
    ///
    /// A copy that `body` kept would be copied again at the next change, with all unfinished messages.
    func withState<Result: Sendable>(_ body: (inout JournalState) -> Result) -> Result {
        withLock { body(&$0.journal) }
    }

    /// The state of a message with unfinished work; nil for any other message.
    func message(_ record: UInt64) -> MessageState? { withState { $0[record]?.state } }

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { unassigned.store(state.isUnassigned, ordering: .releasing) }
            return body(&state)
        }
    }
}
