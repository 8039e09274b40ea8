import BalloonPOSIX
import BusinessMessages

/// Compares the index's file with the conversations.
///
/// A conversation's file may have lines that are newer than the index; the journal shows which conversations
/// do.
struct IndexVerification: Sendable {
    private let path: String
    private var entries: [ConversationName: IndexEntry] = [:]
    /// The last record up to which the index's file is complete; nil without a usable file.
    private var through: UInt64?
    private var isForeign = false
    private var checkpoint: UInt64 = 0
    /// Whether a record after `through` was applied.
    private var isPastEnd = false
    /// The conversations with records after `through`, by the first words of their digests.
    private var recent: Set<UInt64> = []
    /// The conversations with a wrong entry.
    private var wrong: [ConversationName] = []
    /// The conversations with more lines than the index has; these lines may be newer than the index.
    private var behind: [ConversationName] = []

    /// Reads the index's file; a missing file has no problems.
    ///
    /// The journal and the conversations must be read after this call.
    init(_ data: DataDirectory) {
        path = data.conversationIndex
        guard Directory.exists(path) else { return }
        do {
            var entries: [ConversationName: IndexEntry] = [:]
            let content = try IndexFile.read(path, identity: data.identityInFile()) { block, _ in
                for entry in block.entries {
                    let name = ConversationName(entry.digest, in: block.folder)
                    entries[name] = entry.lines == 0 ? nil : entry
                }
                return true
            }
            (self.entries, through) = (entries, content.through)
        } catch {
            // If the file no longer exists, a running server removed it after the check above.
            isForeign = Directory.exists(path)
        }
    }

    /// Applies a record of the journal; must be called for all records in order, before `fold` applies the record.
    mutating func apply(_ located: LocatedRecord, _ fold: LineFold) {
        let record = located.record
        guard let through else { return }
        checkpoint = max(checkpoint, record.checkpoint ?? 0)
        guard located.number > through else { return }
        addUnfinished(fold)
        let key = record.conversation ?? record.subject.flatMap { fold[$0]?.conversation }
        if let key { recent.insert(key.digest) }
    }

    /// Adds the conversations with messages that were unfinished at the end of the index.
    private mutating func addUnfinished(_ fold: LineFold) {
        if isPastEnd { return }
        isPastEnd = true
        for key in fold.conversations.values { recent.insert(key.digest) }
    }

    /// Compares a conversation's file with its entry in the index; `from` is the number of the file's first
    /// line.
    mutating func check(_ path: String, _ lines: [[UInt8]], from: Int) {
        guard through != nil, let name = ConversationName(path: path), !lines.isEmpty else { return }
        guard let entry = entries.removeValue(forKey: name) else { return behind.append(name) }
        let count = Int(entry.lines) - from + 1
        guard count >= 1, count <= lines.count, let line = ConversationLine(lines[count - 1]),
            line.at.milliseconds == entry.milliseconds, line.kind == entry.kind,
            (line.direction == .outbound) == entry.isOutbound
        else { return wrong.append(name) }
        if count < lines.count { behind.append(name) }
    }

    /// Returns the problems; must be called after all files were checked.
    ///
    /// A running server may have appended records after `lastRecord`, so the journal is read once more for
    /// those.
    mutating func problems(
        in data: DataDirectory, after lastRecord: UInt64, _ fold: LineFold
    ) throws(StoreError) -> [StoreProblem] {
        // A running server removes an unusable file before it builds a new one.
        guard Directory.exists(path) else { return [] }
        if isForeign { return [StoreProblem(.indexUnusable, path)] }
        guard let through else { return [] }
        // The next start does not use such a file, and builds the index anew, so the entries are not
        // compared.
        if through < checkpoint || through > lastRecord,
            try through > JournalReader(data.journal).lastRecord()
                || through < checkpoint
        {
            return [StoreProblem(.indexUnusable, path)]
        }
        wrong += entries.keys.filter { name in
            !Directory.exists(data.conversations + "/" + name.path)
                && !Directory.exists(data.damaged + "/" + name.path)
        }
        if wrong.isEmpty, behind.isEmpty { return [] }
        addUnfinished(fold)
        var (found, fold) = (self, fold)
        var journal = try JournalReader(data.journal)
        try journal.forEachRecord { record throws(StoreError) in
            guard record.number > lastRecord else { return }
            found.apply(record, fold)
            _ = fold.apply(record)
        }
        let missed = behind.filter { !found.recent.contains($0.digest.first) }
        return (wrong + missed).map(\.path).sorted().map {
            StoreProblem(.indexDiffers, data.conversations + "/" + $0)
        }
    }
}
