import BalloonPOSIX
import Dispatch

/// Rewrites conversations after a failed sync.
///
/// The system reports a write error once, and may have dropped the data. After that, neither a successful
/// sync nor the file's content proves that the lines are on disk. Every conversation written since the last
/// checkpoint therefore gets a new file, with the lines of the old file and of the journal. The new file is
/// synced before it replaces the old file.
struct ConversationRecovery: Sendable {
    let files: JournalFiles
    let reader: SegmentReader
    let journal: Journal
    let journalState: CurrentState
    let scheduler: DeliveryScheduler
    let conversations: ConversationPartitions

    /// Rewrites the conversations written since the last checkpoint; returns when all of them are on disk.
    ///
    /// A conversation that is damaged, unreadable or not writable is quarantined with an alarm.
    ///
    /// Reads the whole journal, on a queue. Throws a ``StoreError`` after it has tried every conversation; an
    /// error of the whole disk ends the work at once.
    func run() async throws {
        let checkpoint = journalState.withState(\.ledger.checkpoint)
        // A line is written shortly before its message counts as recorded. Without this wait, the failed sync
        // could lose such a line, and the list below would lack its message. Its conversation would then be
        // quarantined.
        await scheduler.finishRecordings()
        // The list is made before the journal is read: a delivery that finishes in between is in the list, in
        // the journal, or in both. See ``Store/finish``.
        let unfinished = scheduler.all
        await journal.flush()
        if let failure = journal.lastFailure { throw StoreError.notDurable(failure) }
        try await DispatchQueue(label: "balloon.recovery").run {
            try writeAnew(unfinished, finishedAfter: checkpoint)
        }
    }

    private func writeAnew(_ unfinished: [Lease], finishedAfter checkpoint: UInt64) throws(StoreError) {
        var journalled: [ConversationName: [JournalledLine]] = [:]
        var fold = LineFold()
        try files.forEachRecord { record throws(StoreError) in
            guard let line = fold.apply(record), record.number > checkpoint else { return }
            journalled[conversations.name(of: line.conversation), default: []].append(line)
        }
        // An earlier process may have written the lines of unfinished messages, or may have ended just
        // before.
        for line in fold.openLines {
            journalled[conversations.name(of: line.conversation), default: []].append(line)
        }
        let open = Dictionary(grouping: unfinished) { conversations.name(of: $0.conversation) }
        let dirty = conversations.all.reduce(into: Set()) {
            $0.formUnion($1.withPool { $0.unsynced.names })
        }
        var failure: StoreError?
        for name in dirty.union(journalled.keys).union(open.keys) {
            let partition = conversations.partition(of: name)
            do throws(StoreError) {
                var entries: [ConversationEntry] = []
                for line in journalled[name] ?? [] { entries += try line.entries(from: reader) }
                for lease in open[name] ?? [] { entries += try journalState.entries(of: lease, from: reader) }
                if entries.isEmpty, !dirty.contains(name) { continue }
                try partition.reconcile(name, with: entries, isSynced: false)
            } catch {
                switch error {
                case .quarantinedConversation: continue
                case .closed: throw error
                case .unavailable(_, let reason) where reason.isDiskWide: throw error
                case .unavailable(_, let reason) where reason.isForbidden:
                    // Only an operator can make this file accessible; checkpoints do not wait for that.
                    do throws(StoreError) {
                        try partition.withPool { pool throws(StoreError) in _ = try pool.add(name.path, error)
                        }
                    } catch { failure = failure ?? error }
                default: failure = failure ?? error
                }
            }
        }
        if let failure { throw failure }
    }
}

extension CurrentState {
    /// Returns the lines that this message must have in its conversation by now.
    ///
    /// A replay, an unrecorded message, and one that has ended meanwhile have none.
    func entries(of lease: Lease, from reader: SegmentReader) throws(StoreError) -> [ConversationEntry] {
        let pending = lease.pending
        guard let kind = pending.recording.kind, let state = message(pending.record) else { return [] }
        return try MessageRecords(state, from: reader)
            .inboundEntries(
                of: lease.conversation, record: pending.record, kind: kind,
                repeating: pending.recording.original)
    }
}
