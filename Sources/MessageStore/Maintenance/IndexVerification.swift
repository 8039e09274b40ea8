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
    /// The first word of the conversation's digest, for each message by its record.
    private var messages: [UInt64: UInt64] = [:]
    /// The messages that had not ended at `through`: the index may lack their later lines.
    private var open: Set<UInt64> = []
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

    /// Applies a record of the journal; must be called for all records in order.
    mutating func apply(_ record: JournalRecord, number: UInt64) {
        guard let through else { return }
        switch record {
        case .message(let message):
            let digest = ConversationDigest(of: message.conversation.customer).first
            messages[number] = digest
            if number > through { recent.insert(digest) } else { open.insert(number) }
            return
        case .checkpoint(let record): checkpoint = max(checkpoint, record)
        case .finished(let finished) where number <= through: open.remove(finished.of)
        case .reply(let reply) where number <= through: open.remove(reply.of)
        default: break
        }
        if number > through, let digest = record.subject.flatMap({ messages[$0] }) { recent.insert(digest) }
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
    mutating func problems(in data: DataDirectory, after lastRecord: UInt64) throws(StoreError)
        -> [StoreProblem]
    {
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
        for message in open { if let digest = messages[message] { recent.insert(digest) } }
        var journal = try JournalReader(data.journal)
        var found = self
        try journal.forEachRecord { record, number, _ throws(StoreError) in
            if number > lastRecord { found.apply(record, number: number) }
        }
        let missed = behind.filter { !found.recent.contains($0.digest.first) }
        return (wrong + missed).map(\.path).sorted().map {
            StoreProblem(.indexDiffers, data.conversations + "/" + $0)
        }
    }
}
