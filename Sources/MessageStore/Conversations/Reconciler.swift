/// Decides what a conversation's file must hold, from what it shows, what the journal says and what may be missing.
///
/// The only place where the three are brought together. A pure function: ``ConversationPartition`` carries out what it decides.
enum Reconciler {
    /// Why the file and the journal are compared.
    enum Cause: Sendable {
        /// The file is damaged, and a power cut may have taken lines that were never synced.
        case damage(UnsettledRecords)
        /// A sync failed: what the file shows need not be on disk. So many lines were written to it.
        case failedSync(writtenLines: Int)
        /// The file is quarantined: whatever can be had of it is better than nothing.
        case rebuild
    }

    /// What is to be done with the file.
    enum Action: Sendable {
        /// Keep so many bytes of it, and append the rest of the repaired content; everything behind them is in the journal.
        case complete(keptBytes: Int)
        /// Put the repaired content in its place.
        case replace
        /// Quarantine it: lines are lost that the journal does not have.
        case quarantine
    }

    /// Decides about the file with this content and path, and these lines that it must have.
    ///
    /// A line of another conversation that shows it too is left out.
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
        case .failedSync(let writtenLines):
            let repair = ConversationRepair(completing: shown, at: path, with: entries)
            let isWhole = repair.lost == 0 && repair.count >= writtenLines
            return (repair, isWhole ? .replace : .quarantine)
        case .rebuild:
            return (
                ConversationRepair(shown, at: path, adding: entries, isElsewhere: isElsewhere), .replace
            )
        }
    }

    /// The size of the complete lines at their beginning that both have.
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
    /// Whether a power cut explains what is damaged: behind it are only lines that were not synced, or are new, and no
    /// more is broken than is written again now, or was on its way.
    fileprivate func explain(_ repair: ConversationRepair) -> Bool {
        !isEmpty && repair.broken <= repair.restored + 1 && repair.behindDamage.allSatisfy(contains)
    }
}
