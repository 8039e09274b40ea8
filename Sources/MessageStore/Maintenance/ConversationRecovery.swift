import BalloonPOSIX
import Dispatch

/// Writes conversations anew after a sync of them failed.
///
/// The system says once that it could not write, and may have dropped what it could not: neither the next sync nor what
/// the file shows proves anything about those lines. So every conversation that was written since the last checkpoint gets
/// a new file, of the lines that it shows and those that the journal has, which is synced before it takes the name.
struct ConversationRecovery: Sendable {
    let files: JournalFiles
    let reader: SegmentReader
    let journal: Journal
    let accounts: SegmentAccounts
    let scheduler: DeliveryScheduler
    let conversations: ConversationPartitions

    /// Returns when all of them are on disk; one that turns out to be damaged, that the disk cannot read or that its mode
    /// forbids to write is set aside with an alarm.
    ///
    /// Reads the whole journal, on a queue. Throws a ``StoreError``; what can be written anew is by
    /// then, unless disk write failed.
    func run() async throws {
        let checkpoint = accounts.withLedger { $0.checkpoint }
        // Before the journal is read, so that who finishes meanwhile is in one of the two: see ``Store/finish``.
        let unfinished = scheduler.recorded
        await journal.flush()
        if let failure = journal.lastFailure { throw StoreError.notDurable(failure) }
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "balloon.recovery").async {
                continuation.resume(with: Result { try writeAnew(unfinished, finishedAfter: checkpoint) })
            }
        }
    }

    private func writeAnew(_ unfinished: [Lease], finishedAfter checkpoint: UInt64) throws(StoreError) {
        var journalled: [ConversationName: [JournalledLine]] = [:]
        var fold = LineFold()
        try files.forEachRecord { record, number, location throws(StoreError) in
            guard let line = fold.apply(record, number: number, at: location), number > checkpoint
            else { return }
            journalled[conversations.name(of: line.conversation), default: []].append(line)
        }
        // An earlier life may have written their lines, or meant to.
        for line in fold.openLines {
            journalled[conversations.name(of: line.conversation), default: []].append(line)
        }
        let open = Dictionary(grouping: unfinished) { conversations.name(of: $0.conversation) }
        let dirty = conversations.all.reduce(into: Set()) {
            $0.formUnion($1.withUnsynced { $0.unsynced.names })
        }
        var failure: StoreError?
        for name in dirty.union(journalled.keys).union(open.keys) {
            let partition = conversations.partition(of: name)
            do throws(StoreError) {
                var entries: [ConversationEntry] = []
                for line in journalled[name] ?? [] { entries += try line.entries(from: reader) }
                for lease in open[name] ?? [] { entries += try lease.entries(from: reader) }
                if entries.isEmpty, !dirty.contains(name) { continue }
                try partition.reconcile(name, with: entries, isSynced: false)
            } catch {
                switch error {
                case .quarantinedConversation: continue
                case .closed: throw error
                case .unavailable(_, let reason) where reason.isDiskWide: throw error
                case .unavailable(_, let reason) where reason.isForbidden:
                    // One file's own trouble, until somebody sees to it: no checkpoint waits for that.
                    do throws(StoreError) {
                        try partition.withPool { pool throws(StoreError) in try pool.setAside(name, error) }
                    } catch { failure = failure ?? error }
                default: failure = failure ?? error
                }
            }
        }
        if let failure { throw failure }
    }
}

extension Lease {
    /// The lines that it has in its conversation by now.
    func entries(from reader: SegmentReader) throws(StoreError) -> [ConversationEntry] {
        guard let kind = pending.recording.kind, !pending.isReplay else { return [] }
        return try MessageRecords(pending.location, pending.related, from: reader)
            .inboundEntries(
                of: conversation, record: pending.record, kind: kind, repeating: pending.recording.original)
    }
}
