/// Decides the content of a conversation's file.
///
/// It compares the current content, the journal, and the lines that may be missing. No other code does so.
/// The function has no side effects: ``ConversationPartition`` applies the decision.
enum Reconciler {
    /// The reason for the comparison.
    enum Cause: Sendable {
        /// The file is damaged, and a power failure may have removed lines that were never synced.
        case damage(UnsettledRecords)
        /// A sync failed: the file's content may not be on disk.
        ///
        /// `lastSequence` is the number of the last line that was written to the file.
        case failedSync(lastSequence: Int)
        /// The file is quarantined: every line that can be recovered is used.
        case rebuild
    }

    /// The decision about the file.
    enum Action: Sendable {
        /// Keep this many bytes of the file, and append the rest of the repaired content.
        ///
        /// Every line that the file has after these bytes is in the journal.
        case complete(keptBytes: Int)
        /// Replace the file with the repaired content.
        case replace
        /// Quarantine the file: lines are lost that the journal does not contain.
        case quarantine
    }

    /// Decides about the file with this content and path, given the lines that it must have.
    ///
    /// A line for which `isElsewhere` returns true belongs to another conversation, and is omitted.
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

    /// Returns the size of the complete lines with which both contents begin.
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
    /// Returns whether a power failure explains the damage.
    ///
    /// Two conditions hold then. After the first damage, only lines are intact that were not synced. At most
    /// one damaged line is not restored from the journal: the line that was being written.
    fileprivate func explain(_ repair: ConversationRepair) -> Bool {
        !isEmpty && repair.broken <= repair.restored + 1 && repair.behindDamage.allSatisfy(contains)
    }
}
