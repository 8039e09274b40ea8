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
    let conversations: ConversationWriter

    /// Returns when all of them are on disk; one that turns out to be damaged is set aside with an alarm.
    ///
    /// Reads the whole journal, on a queue. Throws a ``StoreError``; what was written anew until then stays.
    func run() async throws {
        let checkpoint = accounts.withLedger { $0.checkpoint }
        // Before the journal is read, so that who finishes meanwhile is in one of the two.
        let underWay = scheduler.withQueues { $0.recorded }
        await journal.flush()
        if let failure = journal.lastFailure { throw StoreError.notDurable(failure) }
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "balloon.recovery").async {
                continuation.resume(with: Result { try writeAnew(underWay, finishedAfter: checkpoint) })
            }
        }
    }

    private func writeAnew(_ underWay: [Lease], finishedAfter checkpoint: UInt64) throws(StoreError) {
        var finished: [ConversationKey: [RecoveredJournal.Recovered]] = [:]
        var messages = OpenMessages()
        try files.forEachRecord { record, number, location throws(StoreError) in
            guard let message = messages.apply(record, number: number, at: location), number > checkpoint
            else { return }
            finished[message.conversation, default: []].append(message)
        }
        let open = Dictionary(grouping: underWay, by: \.conversation)
        let dirty = try conversations.now { pool throws(StoreError) in pool.dirty }
        for key in dirty.union(finished.keys).union(open.keys) {
            var entries: [ConversationEntry] = []
            for message in finished[key] ?? [] { entries += try message.entries(from: reader) }
            for lease in open[key] ?? [] { entries += try lease.entries(from: reader) }
            do throws(StoreError) {
                try conversations.now { pool throws(StoreError) in try pool.writeAnew(key, adding: entries) }
            } catch {
                guard case .quarantinedConversation = error else { throw error }
            }
        }
    }
}

extension Lease {
    /// The lines that it has in its conversation by now.
    fileprivate func entries(from reader: SegmentReader) throws(StoreError) -> [ConversationEntry] {
        guard let kind = pending.recordedKind else { return [] }
        return try DeliveryRecords(pending, from: reader).entries(
            record: pending.record, kind: kind, conversation: conversation)
    }
}
