/// Decides the content of a conversation's file from its current content, the journal, and the lines that may
/// be missing.
///
/// No other code compares the three. A pure function: ``ConversationPartition`` applies the decision.
enum Reconciler {
    /// The reason for the comparison.
    enum Cause: Sendable {
        /// The file is damaged, and a power failure may have removed lines that were never synced.
        case damage(UnsettledRecords)
        /// A sync failed: the file's content may not be on disk. The last line that was written to
        /// it had this number.
        case failedSync(lastSequence: Int)
        /// The file is quarantined: every line that can be recovered is used.
        case rebuild
    }

    /// The decision about the file.
    enum Action: Sendable {
        /// Keep this many bytes of the file, and append the rest of the repaired content; everything after them is in
        /// the journal.
        case complete(keptBytes: Int)
        /// Replace the file with the repaired content.
        case replace
        /// Quarantine the file: lines are lost that the journal does not contain.
        case quarantine
    }

    /// Decides about the file with this content and path, given its expected lines.
    ///
    /// A line that another conversation contains too is omitted.
    static func decide(
        _ shown: [UInt8], at path: String, with entries: [ConversationEntry], after cause: Cause,
        isElsewhere: (ConversationLine) -> Bool = { _ in false }
    ) -> (repair: ConversationRepair, action: Action) {
        switch cause {
        case .damage(let unsettled):
            let repair = ConversationRepair(
                shown, at: path, adding: entries, behind: { !unsettled.contains($0) })
            guard unsettled.explain(repair) else { return (repair, .quarantine) }
            return (repair, .complete(keptBytes: commonBytes(shown, repair.bytes)))
        case .failedSync(let lastSequence):
            let repair = ConversationRepair(completing: shown, at: path, with: entries)
            let isWhole = repair.lost == 0 && repair.lastSequence >= lastSequence
            return (repair, isWhole ? .replace : .quarantine)
        case .rebuild:
            return (
                ConversationRepair(shown, at: path, adding: entries, isElsewhere: isElsewhere), .replace
            )
        }
    }

    /// The size of the complete lines that both contents have in common at their start.
    private static func commonBytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var lineEnd = 0
        for (index, pair) in zip(left, right).enumerated() {
            if pair.0 != pair.1 { break }
            if pair.0 == UInt8(ascii: "\n") { lineEnd = index + 1 }
        }
        return lineEnd
    }
}

extension UnsettledRecords {
    /// Whether a power failure explains the damage: only unsynced or new lines follow it, and the broken
    /// pieces are no more than the lines that are rewritten or were in flight.
    fileprivate func explain(_ repair: ConversationRepair) -> Bool {
        !isEmpty && repair.broken <= repair.restored + 1 && repair.behindDamage.allSatisfy(contains)
    }
}
