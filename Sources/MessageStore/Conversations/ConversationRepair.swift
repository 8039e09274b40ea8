import BalloonPOSIX
import BusinessMessages

/// The repaired content of a conversation: the intact lines of its file in order, and the missing lines.
///
/// It is computed from the file's bytes and the journal's entries alone, without side effects. No other code
/// decides what a conversation's file has. Lines are renumbered. A line that is neither intact nor in the
/// journal is lost, and counted as such. The removal of old lines makes the content of the new file with this
/// type too.
struct ConversationRepair: Sendable {
    /// The content of the repaired file.
    private(set) var bytes: [UInt8] = []
    /// The number of lines in the repaired file.
    private(set) var count = 0
    /// The number of expected lines that the file lacked and the repair added.
    private(set) var restored = 0
    /// The number of the file's lines that differed from the journal and were corrected.
    private(set) var corrected = 0
    /// The number of lines that the file once had and that cannot be restored.
    private(set) var lost = 0
    /// The number of old lines that were removed.
    private(set) var removed = 0
    /// The number of damaged lines: bytes between two line feeds that are not a line of this conversation.
    private(set) var broken = 0
    /// The records of the intact lines after the first damaged or missing one.
    private(set) var behindDamage: [UInt64] = []
    /// The identities of the lines in the repaired file.
    private(set) var identities: Set<LineIdentity> = []
    /// The number of the first line in the repaired file.
    private var from = 1

    /// The number of the last line in the repaired file.
    var lastSequence: Int { from + count - 1 }

    /// A line to be written.
    private struct Part {
        let identity: LineIdentity
        /// The line's text after its sequence number, beginning with the comma.
        let text: [UInt8]
    }

    /// Repairs a file, given its path below the folder of all conversations and its lines in the journal.
    ///
    /// A missing line is inserted after every line with an earlier place, and after the last line whose
    /// record `isSettled` accepts. A line for which `isElsewhere` returns true belongs to another
    /// conversation: it is omitted and does not count as lost.
    init(
        _ damaged: [UInt8], at path: String, adding entries: [ConversationEntry],
        behind isSettled: (UInt64) -> Bool = { _ in false },
        isElsewhere: (ConversationLine) -> Bool = { _ in false }
    ) {
        var parts: [Part] = []
        var known: Set<LineIdentity> = []
        let journalled = Dictionary(entries.map { ($0.identity, $0) }) { first, _ in first }
        var found = 0
        let header = ConversationHeader(damaged)
        from = header.from
        var lastSequence = from - 1
        for piece in damaged[header.sizeBytes...].split(separator: UInt8(ascii: "\n")) {
            // A block that never reached the disk reads as zeros; the bytes after the zeros may be an intact
            // line.
            let text = Array(piece.drop { $0 == 0 })
            let line = ConversationLine(text)
            guard let line, let comma = text.firstIndex(of: UInt8(ascii: ",")),
                journalled[line.identity] != nil || ConversationPath.holds(path, line.customer)
            else {
                if let line, isElsewhere(line) { continue }
                broken += 1
                continue
            }
            found += 1
            lastSequence = line.sequence
            // A duplicate of a line is dropped.
            guard known.insert(line.identity).inserted else { continue }
            if broken > 0 || !behindDamage.isEmpty || line.sequence != from + parts.count {
                behindDamage.append(line.record)
            }
            let kept = Array(text[comma...])
            let said =
                journalled[line.identity].flatMap { $0.isRedacted ? nil : Self.text($0) }
                ?? line.redacted(text).flatMap { $0.firstIndex(of: UInt8(ascii: ",")).map($0.suffix(from:)) }
                .map(Array.init) ?? kept
            if said != kept { corrected += 1 }
            parts.append(Part(identity: line.identity, text: said))
        }
        let settledCount = parts.lastIndex { isSettled($0.identity.record) }.map { $0 + 1 } ?? 0
        for entry in entries where known.insert(entry.identity).inserted {
            let part = Part(identity: entry.identity, text: Self.text(entry))
            // Existing lines of parked messages may precede lines with earlier records, and are not moved.
            let place = parts.lastIndex { $0.identity.place <= part.identity.place }.map { $0 + 1 } ?? 0
            parts.insert(part, at: max(place, settledCount))
            restored += 1
        }
        identities = known
        lost = max(0, max(broken, lastSequence - from + 1 - found) - restored)
        count = parts.count
        if count > 0 { bytes = ConversationHeader.bytes(from: from) }
        for (index, part) in parts.enumerated() {
            Self.append(part.text[...], sequence: from + index, to: &bytes)
        }
    }

    /// Removes a file's oldest lines; nil when none is removed, or a line that might be due is damaged.
    ///
    /// A line is due when it is older than the limit and the journal no longer has its record. No recovery
    /// expects such a line. Due lines are removed once all or a tenth of the lines are due, or the oldest has
    /// been due for 30 days. A file is therefore not rewritten every night.
    init?(trimming content: [UInt8], olderThan limit: Timestamp, before record: UInt64) {
        let header = ConversationHeader(content)
        var position = header.sizeBytes
        var oldest: Timestamp?
        while let feed = content.firstPosition(of: UInt8(ascii: "\n"), from: position) {
            guard let line = ConversationLine(Array(content[position..<feed])) else { return nil }
            guard line.at < limit, line.record < record else { break }
            oldest = min(oldest ?? line.at, line.at)
            removed += 1
            position = feed + 1
        }
        guard let oldest else { return nil }
        count = content[position...].count { $0 == UInt8(ascii: "\n") }
        let isWorthwhile =
            count == 0 || removed * 10 >= removed + count
            || oldest < limit.advanced(by: .zero - Self.trimPatience)
        guard isWorthwhile else { return nil }
        from = header.from + removed
        bytes = ConversationHeader.bytes(from: from) + content[position...]
    }

    /// The time after which a line that is due is removed, however few lines are due with it.
    private static let trimPatience = Duration.seconds(30 * 86_400)

    /// Repairs a damaged file of which a power failure may have removed lines that were never synced.
    ///
    /// Nil unless a power failure explains the damage. Two conditions hold then. After the first damage, only
    /// lines are intact that were not synced. At most one damaged line is not restored from the journal: the
    /// line that was being written.
    init?(
        _ damaged: [UInt8], at path: String, adding entries: [ConversationEntry], unsettled: UnsettledRecords
    ) {
        self.init(damaged, at: path, adding: entries, behind: { !unsettled.contains($0) })
        guard !unsettled.isEmpty, broken <= restored + 1, behindDamage.allSatisfy(unsettled.contains)
        else { return nil }
    }

    /// Returns the size of the complete lines with which this content and that of the damaged file begin.
    func commonBytes(with damaged: [UInt8]) -> Int {
        let same =
            zip(damaged, bytes).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            ?? min(damaged.count, bytes.count)
        return bytes.lastPosition(of: UInt8(ascii: "\n"), before: same).map { $0 + 1 } ?? 0
    }

    /// Adds the journal's lines that a file lacks after a failed sync; existing lines keep their content.
    ///
    /// An unfinished last line is dropped. Nil when the file lost lines that the journal lacks; `lastSequence` is
    /// the number of the last line that was written to it.
    init?(
        completing shown: [UInt8], at path: String, with entries: [ConversationEntry],
        through lastSequence: Int
    ) {
        let end = shown.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let isUnfinished = end < shown.count && shown[end] == UInt8(ascii: "{")
        let bytes = isUnfinished ? Array(shown[..<end]) : shown
        let there = Set(
            bytes.split(separator: UInt8(ascii: "\n")).compactMap { ConversationLine(Array($0))?.identity })
        self.init(bytes, at: path, adding: entries.filter { !there.contains($0.identity) })
        if lost > 0 || self.lastSequence < lastSequence { return nil }
    }

    /// Returns those lines of `text` that the repaired file lacks, numbered after its last line.
    func continuation(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var sequence = lastSequence
        for piece in text.split(separator: UInt8(ascii: "\n")) {
            let text = Array(piece)
            guard let line = ConversationLine(text), !identities.contains(line.identity),
                let comma = text.firstIndex(of: UInt8(ascii: ","))
            else { continue }
            sequence += 1
            Self.append(text[comma...], sequence: sequence, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: ArraySlice<UInt8>, sequence: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"seq\":\(sequence)".utf8)
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Returns the entry's line without its number: the text from the comma after the number.
    private static func text(_ entry: ConversationEntry) -> [UInt8] {
        let line = entry.line(sequence: 0)
        return Array(line[(line.firstIndex(of: UInt8(ascii: ",")) ?? line.endIndex)...].dropLast())
    }
}
