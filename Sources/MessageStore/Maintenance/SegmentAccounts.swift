import BalloonPOSIX
import Synchronization

/// The ledger of segments of a running store, updated from durable records.
final class SegmentAccounts: Sendable {
    private let ledger: Mutex<SegmentLedger>
    private let opened = Timestamp.now()
    private let start = ContinuousClock.now

    init(_ ledger: SegmentLedger) {
        var ledger = ledger
        ledger.limitAges(to: opened)
        self.ledger = Mutex(ledger)
    }

    /// The time from which the ages of segments are computed: the opening time of the store plus the elapsed
    /// time.
    ///
    /// The elapsed time is monotonic, so changes of the wall clock do not age segments.
    var now: Timestamp { opened.advanced(by: start.duration(to: .now)) }

    /// Applies the result of a batch to the ledger; runs on the journal's queue before the callers get the result.
    func settle(_ entries: [JournalEntry], _ result: Journal.BatchResult) {
        guard case .durable(let records) = result else { return }
        let now = now
        ledger.withLock { ledger in
            for (entry, record) in zip(entries, records) {
                ledger.begin(record.location.segment, at: nil)
                switch entry.effect {
                case .message:
                    ledger.begin(record.location.segment, at: now)
                    ledger.recordOpen(1, in: record.location.segment)
                case .replies(let count, let segment): ledger.recordOpen(count, in: segment)
                case .end(let segment, let letter, let business):
                    ledger.recordEnd(in: segment, deadLetter: letter, of: business, by: record.number)
                case .reportedEnd(let segment, let letter, let business):
                    ledger.recordEnd(in: segment, deadLetter: letter, of: business, by: record.number)
                    ledger.recordOpen(1, in: record.location.segment)
                case .decision(let letter): ledger.recordDecision(about: letter)
                case .checkpoint(let through): ledger.recordCheckpoint(through: through)
                case nil: break
                }
            }
        }
    }

    /// Runs `body` on the ledger.
    func withLedger<Result: Sendable>(_ body: (inout SegmentLedger) -> Result) -> Result {
        ledger.withLock { body(&$0) }
    }
}
