import BalloonPOSIX
import BusinessMessages

/// The assignments that follow from the journal; verification compares the assignments' files with them.
struct ExpectedAssignments {
    private var table = AssignmentTable()
    /// The record that last changed or removed the entry of each conversation.
    private var changes: [ConversationKey: UInt64] = [:]
    private var checkpoint: UInt64 = 0
    /// The conversations whose entries this table dropped.
    ///
    /// A running store may have kept their entries and files, because it keeps those with unfinished events.
    private var dropped: Set<ConversationKey> = []

    /// Applies a journal record; must be called before `fold` applies the same record.
    mutating func apply(_ record: JournalRecord, number: UInt64, segment: UInt64, _ fold: LineFold) {
        let key: ConversationKey?
        switch record {
        case .checkpoint(let through):
            checkpoint = max(checkpoint, through)
            return
        case .assignment(let record): key = record.conversation
        case .outcome(let outcome): key = outcome.handOff?.conversation
        case .message(let message): key = message.conversation
        case .finished(let finished):
            guard !table.entries.isEmpty, finished.result.reachedHandler,
                let key = fold.conversation(of: finished.of), table.finish(finished.of, of: key)
            else { return }
            changes[key] = number
            return
        default: return
        }
        guard let key else { return }
        let before = table.entries[key]
        table.apply(record, number: number, segment: segment)
        if table.entries[key] != before { changes[key] = number }
        for key in table.takeDropped() { dropped.insert(key) }
    }

    /// Returns the files that are missing, damaged, superfluous or different, as paths below the folder.
    ///
    /// Files of conversations that changed after the last checkpoint are not checked. Such a file may be
    /// older than the journal.
    func problems(in directory: String) throws(StoreError) -> [String] {
        var problems: [String] = []
        var entries = table.shown
        for path in try AssignmentFiles.paths(in: directory) {
            let bytes: [UInt8]
            do throws(SystemError) { bytes = try File(directory + "/" + path, for: .reading).readAll() } catch
            {
                if error.isMissing { continue }
                problems.append(path)
                continue
            }
            guard let item = AssignmentFolder.Item(bytes) else {
                problems.append(path)
                continue
            }
            let key = ConversationKey(business: item.business, customer: item.customer)
            guard ConversationPath.state(key) == path else {
                problems.append(path)
                continue
            }
            let entry = entries.removeValue(forKey: key)
            let isSame = entry.map { $0.hasFile(item.assignment) } ?? dropped.contains(key)
            if !isSame, isSettled(key) { problems.append(path) }
        }
        return Set(problems + entries.keys.filter(isSettled).map(ConversationPath.state)).sorted()
    }

    private func isSettled(_ key: ConversationKey) -> Bool { changes[key, default: 0] <= checkpoint }
}

extension AssignmentTable.Entry {
    /// Returns whether a file's assignment equals this one, apart from `lastSeen`.
    ///
    /// The file is not rewritten at every message, so its `lastSeen` may be older.
    fileprivate func hasFile(_ found: Assignment) -> Bool {
        var found = found
        found.lastSeen = assignment.lastSeen
        return found == assignment
    }
}
