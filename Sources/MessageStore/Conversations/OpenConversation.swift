import BalloonPOSIX

/// A conversation's file that is open for appending.
struct OpenConversation: Sendable {
    let path: String
    /// Whether the file was made by this opening.
    let isNew: Bool
    private let file: File
    private let disk: any StoreDisk
    private var sizeBytes: Int
    private(set) var lastSequence: Int
    /// The lines in the file; read only when a line might be there already.
    private var known: Set<LineIdentity>?
    /// When it was last used, as a count of uses.
    var lastUse: UInt64 = 0

    /// Opens or makes the file; cuts an unfinished last line.
    init(_ path: String, on disk: any StoreDisk) throws(StoreError) {
        self.disk = disk
        do throws(SystemError) {
            file = try disk.open(path)
            let (lines, completeBytes) = try ConversationTail.lines(of: file, maximum: 1)
            let foundBytes = try file.sizeBytes()
            isNew = foundBytes == 0
            sizeBytes = completeBytes
            lastSequence = try ConversationTail.isSound(file, behind: completeBytes) ? 0 : -1
            if lastSequence == 0, completeBytes < foundBytes { try disk.truncate(file, to: completeBytes) }
            if lastSequence == 0, let last = lines.last {
                lastSequence = ConversationLine(last)?.sequence ?? -1
            }
        } catch {
            throw .unavailable(path: path, error)
        }
        guard lastSequence >= 0 else { throw .damaged(file: path, line: 0) }
        self.path = path
    }

    /// Appends a line with the next sequence number, unless it `mightBeThere` and is; whether it was
    /// appended.
    mutating func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) -> Bool {
        if mightBeThere, try identities().contains(entry.identity) { return false }
        let line = entry.line(sequence: lastSequence + 1)
        do throws(SystemError) {
            try disk.append(line, to: file)
        } catch {
            // Without the cut the next opening makes it; until then the file must not be appended to.
            try? disk.truncate(file, to: sizeBytes)
            throw .unavailable(path: path, error)
        }
        sizeBytes += line.count
        lastSequence += 1
        known?.insert(entry.identity)
        return true
    }

    /// The last lines, oldest first.
    func lines(maximum: Int) throws(StoreError) -> [ConversationLine] {
        try unread(maximum: maximum, maximumBytes: .max).lines()
    }

    /// The same, no more than `maximumBytes` of them but the last in any case, to be parsed elsewhere.
    func unread(maximum: Int, maximumBytes: Int) throws(StoreError) -> UnreadLines {
        do throws(SystemError) {
            let (texts, _) = try ConversationTail.lines(
                of: file, maximum: maximum, maximumBytes: maximumBytes)
            return UnreadLines(texts: texts, lastSequence: lastSequence, path: path)
        } catch {
            throw .unavailable(path: path, error)
        }
    }

    /// Waits until the lines are on disk.
    func synchronize() throws(SystemError) { try disk.synchronize(file) }

    private mutating func identities() throws(StoreError) -> Set<LineIdentity> {
        if let known { return known }
        var found: Set<LineIdentity> = []
        for line in try lines(maximum: .max) {
            found.insert(line.identity)
        }
        known = found
        return found
    }
}

/// The last lines of a conversation as they stand in its file.
struct UnreadLines: Sendable {
    let texts: [[UInt8]]
    let lastSequence: Int
    let path: String

    /// Reads them; a line that is none is damage.
    func lines() throws(StoreError) -> [ConversationLine] {
        try parse(texts, lastSequence: lastSequence, path: path)
    }
}

/// Reads lines of which the last has the number `lastSequence`; a line that is none is damage.
func parse(_ texts: [[UInt8]], lastSequence: Int, path: String) throws(StoreError) -> [ConversationLine] {
    var lines: [ConversationLine] = []
    lines.reserveCapacity(texts.count)
    for (index, text) in texts.enumerated() {
        let number = lastSequence - texts.count + 1 + index
        guard let line = ConversationLine(text), line.sequence == number else {
            throw .damaged(file: path, line: number)
        }
        lines.append(line)
    }
    return lines
}
