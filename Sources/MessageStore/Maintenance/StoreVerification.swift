import BalloonPOSIX
import Synchronization

/// Checks everything in a data directory; acquires no lock, changes nothing, and works while a server runs.
///
/// In the journal it checks every line's checksum and number, and finds gaps between segments. In the
/// conversations it checks every line, its number, and whether it is in the right file. Then it compares
/// both: each line that must be on disk must exist once and equal the journal's.
package struct StoreVerification: Sendable {
    /// The number of segments.
    package private(set) var segments = 0
    /// The number of records.
    package private(set) var records = 0
    /// The number of conversations.
    package private(set) var conversations = 0
    /// The number of conversation lines.
    package private(set) var lines = 0
    /// The number of lines that were compared with the journal.
    package private(set) var comparedLines = 0
    /// The number of problems.
    package private(set) var problems = 0
    /// Whether the journal itself has problems, so that it cannot be used for a rebuild.
    package private(set) var isJournalDamaged = false

    /// The first problem of the journal.
    private var damage: StoreError?
    private let data: DataDirectory
    /// The check of the index; nil when only the conversations are checked.
    private var index: IndexVerification?
    /// The unfinished messages at the end of the journal.
    private var fold = LineFold()
    private let report: @Sendable (StoreProblem) -> Void

    private init(_ path: String, _ report: @escaping @Sendable (StoreProblem) -> Void) {
        data = DataDirectory(path: path)
        self.report = report
    }

    /// Checks a data directory, and calls `report` with each problem when it is found.
    ///
    /// Needs about 40 bytes of memory for each expected line. Throws a ``StoreError`` when the journal, or a
    /// whole folder of the data directory, is unreadable.
    package static func run(
        dataDirectory: String, report: @escaping @Sendable (StoreProblem) -> Void
    ) throws -> StoreVerification {
        try DataDirectory(path: dataDirectory).check()
        var verification = StoreVerification(dataDirectory, report)
        // The index's file is read first, so that it has no line that the journal and the conversations lack.
        verification.index = IndexVerification(verification.data)
        let (expected, lastRecord) = try verification.checkJournal()
        try verification.checkConversations(expected, lastRecord: lastRecord)
        try verification.checkRequests()
        try verification.checkIndex(lastRecord: lastRecord)
        return verification
    }

    /// The conversations whose files must be rewritten, as paths below the folder of all conversations.
    ///
    /// Throws ``StoreError/damaged(file:line:)`` while the journal itself is damaged.
    static func faultyConversations(in dataDirectory: String) throws(StoreError) -> Set<String> {
        let paths = Mutex<Set<String>>([])
        let folder = DataDirectory(path: dataDirectory).conversations + "/"
        var verification = StoreVerification(dataDirectory) { problem in
            guard problem.kind.isInFile else { return }
            paths.withLock { _ = $0.insert(String(problem.file.dropFirst(folder.count))) }
        }
        let (expected, lastRecord) = try verification.checkJournal()
        if let damage = verification.damage { throw damage }
        if verification.isJournalDamaged { return [] }
        try verification.checkConversations(expected, lastRecord: lastRecord)
        return paths.withLock { $0 }
    }

    private mutating func add(_ problem: StoreProblem) {
        problems += 1
        if problem.kind.isJournals { isJournalDamaged = true }
        report(problem)
    }

    private mutating func checkJournal() throws(StoreError) -> (ExpectedLines, UInt64) {
        for name in try DataFiles().names(in: data.journal) where name.hasSuffix(SegmentName.damagedSuffix) {
            add(StoreProblem(.journalQuarantined, data.journal + "/" + name))
        }
        let reader = SegmentReader(directory: data.journal)
        var expected = ExpectedLines()
        var last: UInt64 = 0
        var journal = try JournalReader(data.journal)
        var seen: Set<UInt64> = []
        try journal.forEachRecord { record throws(StoreError) in
            records += 1
            seen.insert(record.location.segment)
            last = max(last, record.number)
            if let through = record.record.checkpoint { expected.recordCheckpoint(through: through) }
            index?.apply(record, fold)
            if let line = fold.apply(record) {
                for entry in try line.entries(from: reader) {
                    expected.insert(entry, finishedBy: record.number)
                }
            }
        }
        segments = seen.count
        damage = journal.damage
        for loss in journal.losses {
            add(
                StoreProblem(
                    loss.line > 0 ? .journalDamaged : .journalGap, journal.path(loss.segment),
                    line: loss.line,
                    record: loss.records.lowerBound))
        }
        for blemish in journal.blemishes {
            add(StoreProblem(.journalDamaged, journal.path(blemish.segment), line: blemish.line))
        }
        expected.finish()
        return (expected, last)
    }

    private mutating func checkConversations(
        _ expected: ExpectedLines, lastRecord: UInt64
    ) throws(StoreError) {
        var expected = expected
        for path in try ConversationQuarantine.paths(in: data.damaged).sorted() {
            add(StoreProblem(.conversationQuarantined, data.damaged + "/" + path))
            expected.excuse(path)
        }
        var newest: (record: UInt64, file: String) = (0, "")
        for business in try DataFiles().names(in: data.conversations) {
            for folder in names(below: business, &expected) {
                for name in names(below: business + "/" + folder, &expected) where name.hasSuffix(".jsonl") {
                    let path = business + "/" + folder + "/" + name
                    if let last = try check(path, &expected), last > newest.record {
                        newest = (last, data.conversations + "/" + path)
                    }
                }
            }
        }
        comparedLines = expected.found
        for missing in expected.missing {
            add(
                StoreProblem(.missing, data.conversations + "/" + missing.path, record: missing.record))
        }
        // A running server may have appended records since the journal was read, so its last record is read
        // once more.
        if newest.record > lastRecord, try newest.record > JournalReader(data.journal).lastRecord() {
            add(StoreProblem(.unknownRecord, newest.file, record: newest.record))
        }
    }

    /// Checks the files of open requests; a running server may remove some of them meanwhile.
    private mutating func checkRequests() throws(StoreError) {
        let files = RequestFiles(directory: data.requests)
        let (requests, others) = try files.names()
        // A file with this suffix is not renamed yet: a running server is writing it, or a killed one left
        // it.
        for path in others where !path.hasSuffix(".new") {
            add(StoreProblem(.requestDamaged, data.requests + "/" + path))
        }
        for name in requests {
            do throws(StoreError) { _ = try files.read(name) } catch {
                guard case .damaged(let file, _) = error else { throw error }
                add(StoreProblem(.requestDamaged, file))
            }
        }
    }

    /// Compares the index's file with the conversations.
    private mutating func checkIndex(lastRecord: UInt64) throws(StoreError) {
        if isJournalDamaged { return }
        for problem in try index?.problems(in: data, after: lastRecord, fold) ?? [] { add(problem) }
    }

    /// Checks one conversation; returns the last record that it refers to.
    private mutating func check(
        _ path: String, _ expected: inout ExpectedLines
    ) throws(StoreError) -> UInt64? {
        let file = data.conversations + "/" + path
        let texts: [[UInt8]]
        let endsSound: Bool
        let header: ConversationHeader
        do throws(SystemError) {
            let opened = try File(file, for: .reading)
            let (found, completeBytes) = try ConversationTail.lines(of: opened, maximum: .max)
            texts = found
            endsSound = try ConversationTail.isSound(opened, behind: completeBytes)
            header = try ConversationHeader(of: opened)
        } catch {
            // A running server may have quarantined the file meanwhile.
            if error.isMissing { return nil }
            // The check continues with the other conversations.
            add(StoreProblem(.conversationUnreadable, file))
            expected.excuse(path)
            return nil
        }
        conversations += 1
        lines += texts.count
        index?.check(path, texts, from: header.from)
        if !endsSound { add(StoreProblem(.conversationDamaged, file, line: texts.count + 1)) }
        var last: UInt64?
        for (index, text) in texts.enumerated() {
            guard let line = ConversationLine(text) else {
                add(StoreProblem(.conversationDamaged, file, line: index + 1))
                continue
            }
            if line.sequence != header.from + index {
                add(StoreProblem(.sequenceGap, file, line: index + 1, record: line.record))
            }
            if !ConversationPath.holds(path, line.customer) {
                add(StoreProblem(.misplaced, file, line: index + 1, record: line.record))
            }
            if let kind = expected.take(line, text, in: path) {
                add(StoreProblem(kind, file, line: index + 1, record: line.record))
            }
            last = max(last ?? 0, line.record)
        }
        return last
    }

    /// Returns the names in a folder of conversations; none, and a reported problem, when the folder is
    /// unreadable.
    private mutating func names(below folder: String, _ expected: inout ExpectedLines) -> [String] {
        let path = data.conversations + "/" + folder
        // A folder that was removed meanwhile, or a file, has no names.
        do throws(StoreError) { return try DataFiles().names(in: path) } catch {
            add(StoreProblem(.conversationUnreadable, path))
            expected.excuse(below: folder)
            return []
        }
    }
}
