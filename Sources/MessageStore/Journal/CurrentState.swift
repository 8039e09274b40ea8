import BalloonPOSIX
import BusinessMessages
import Synchronization

/// The state of a running store's journal, to which each durable record is applied.
final class CurrentState: Sendable {
    private let state: Mutex<JournalState>
    private let opened = Timestamp.now()
    private let start = ContinuousClock.now

    init(_ state: JournalState) {
        var state = state
        state.ledger.limitAges(to: opened)
        self.state = Mutex(state)
    }

    /// The time from which the ages of segments are computed: the opening time of the store plus the elapsed
    /// time.
    ///
    /// The elapsed time is monotonic, so changes of the wall clock do not age segments.
    var now: Timestamp { opened.advanced(by: start.duration(to: .now)) }

    /// Applies the records of a batch; runs on the journal's queue before the callers get the result.
    ///
    /// An active `feed` gets each record with its conversation. `written` returns the last record up to which
    /// every line is in its conversation's file.
    func settle(
        _ entries: [JournalEntry], _ result: Journal.BatchResult, feed: EventFeed,
        written: (UInt64) -> UInt64
    ) {
        guard case .durable(let records) = result, let last = records.last else { return }
        let now = now
        let isFollowed = feed.isActive
        var changes: [DurableChange] = []
        state.withLock { state in
            for (entry, record) in zip(entries, records) {
                state.apply(entry.record.meaning, number: record.number, at: record.location, now: now)
                if isFollowed {
                    let key = state.conversation(of: entry.record.meaning)
                    changes.append(.record(record.number, entry.record, in: key))
                }
            }
            if state.endedCount > Self.maximumEnded { state.removeEnded(through: written(last.number)) }
        }
        feed.add(changes)
    }

    /// The number of ended messages that are kept before those with written lines are removed.
    private static let maximumEnded = 256

    /// Runs `body` on the ledger of segments.
    func withLedger<Result: Sendable>(_ body: (inout SegmentLedger) -> Result) -> Result {
        state.withLock { body(&$0.ledger) }
    }

    /// Runs `body` on the state.
    ///
    /// A copy that `body` kept would be copied again at the next change, with all unfinished messages.
    func withState<Result: Sendable>(_ body: (inout JournalState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}
