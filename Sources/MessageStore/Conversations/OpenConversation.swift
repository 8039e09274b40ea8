import BalloonPOSIX
import BusinessMessages

/// A conversation's file opened for appending.
struct OpenConversation: Sendable {
    /// Whether this opening created the file.
    let isNew: Bool
    private let disk: any StoreDisk
    /// The end of the file.
    var end: ConversationEnd
    /// The identities of the file's lines; nil until a line is appended that the file may already have.
    private var known: Set<LineIdentity>?
    /// The pool's count of uses at the last use of this file; a later use has a larger number.
    var lastUse: UInt64 = 0

    /// Opens or creates the file, and removes an unfinished last line.
    ///
    /// Reads nothing when the file's end is `known` and its size has not changed since it was closed.
    init(_ path: String, on disk: any StoreDisk, _ known: KnownEnds.End?) throws(StoreError) {
        self.disk = disk
        do throws(SystemError) {
            let file = try disk.open(path)
            let foundBytes = try file.sizeBytes()
            isNew = foundBytes == 0
            if let known, known.sizeBytes == foundBytes {
                end = ConversationEnd(
                    file: file, path: path, sizeBytes: foundBytes, lastSequence: known.lastSequence)
                end.contact = known.contact
                return
            }
            end = ConversationEnd(file: file, path: path, sizeBytes: foundBytes, lastSequence: 0)
            if isNew {
                end.isClosed = false
                end.contact = Contact()
                return
            }
            let (lines, completeBytes) = try ConversationTail.lines(
                of: file, endingAt: foundBytes, maximum: 1)
            var lastSequence = try ConversationTail.isSound(file, behind: completeBytes) ? 0 : -1
            if lastSequence == 0, completeBytes < foundBytes { try disk.truncate(file, to: completeBytes) }
            if lastSequence == 0, let last = lines.last {
                lastSequence = ConversationLine(last)?.sequence ?? -1
            }
            end.sizeBytes = completeBytes
            end.lastSequence = lastSequence
        } catch {
            throw .unavailable(path: path, error)
        }
        guard end.lastSequence >= 0 else { throw .damaged(file: path, line: 0) }
    }

    /// Appends a line with the next number and returns it; nil if it `mightBeThere` and the file has it.
    mutating func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) -> [UInt8]? {
        if mightBeThere, try identities().contains(entry.identity) { return nil }
        let line = entry.line(sequence: end.lastSequence + 1)
        do throws(SystemError) {
            try disk.append(line, to: end.file)
        } catch {
            // If truncating fails too, the next opening truncates. The pool closes the file, so no line
            // follows the rest.
            try? disk.truncate(end.file, to: end.sizeBytes)
            throw .unavailable(path: end.path, error)
        }
        end.sizeBytes += line.count
        end.lastSequence += 1
        known?.insert(entry.identity)
        if let closes = entry.closes { end.isClosed = closes }
        end.contact?.apply(entry)
        return line
    }

    private mutating func identities() throws(StoreError) -> Set<LineIdentity> {
        if let known { return known }
        let text: [UInt8] = try StoreError.naming(end.path) { () throws(SystemError) in
            try end.file.read(at: 0, count: end.sizeBytes)
        }
        let found = try LineScan.identities(in: text, lastSequence: end.lastSequence, path: end.path)
        known = found
        return found
    }
}

/// A conversation's file with its end at one moment; reading it ignores lines that are appended later.
struct ConversationEnd: Sendable {
    let file: File
    let path: String
    /// The size of the complete lines.
    fileprivate(set) var sizeBytes: Int
    /// The number of the last line.
    fileprivate(set) var lastSequence: Int
    /// Whether the customer's last message closed the conversation; nil until the file was searched for that message.
    var isClosed: Bool?
    /// The contact up to the last line; nil until the last lines were read.
    var contact: Contact?

    /// Returns the last lines, oldest first, with at most `maximumBytes` in total; the last one in any case.
    ///
    /// Throws ``StoreError/damaged(file:line:)`` for an invalid line.
    func lines(maximum: Int, maximumBytes: Int) throws(StoreError) -> [ConversationLine] {
        let (texts, _) = try StoreError.naming(path) { () throws(SystemError) in
            try ConversationTail.lines(
                of: file, endingAt: sizeBytes, maximum: maximum, maximumBytes: maximumBytes)
        }
        return try parse(texts, lastSequence: lastSequence, path: path)
    }

    /// Returns the customer's last message in about the last `maximumBytes`; nil when these bytes have none.
    func lastInboundLine(maximumBytes: Int) throws(StoreError) -> ConversationLine? {
        try lastLine(with: { $0.field("direction", "inbound") }, maximumBytes: maximumBytes) {
            $0.direction == .inbound && !$0.isFilesOnly && !$0.kind.isTyping
        }
    }

    /// Returns the last line in about the last `maximumBytes` that `isWanted` accepts; nil when these bytes have none.
    ///
    /// Reads the file from its end in parts of about 1 MiB, and parses only lines that contain the member.
    func lastLine(
        with member: (inout JSONWriter) -> Void, maximumBytes: Int = .max,
        where isWanted: (ConversationLine) -> Bool
    ) throws(StoreError) -> ConversationLine? {
        let text = Array(JSONWriter.object(member).dropFirst().dropLast())
        var found: ConversationLine?
        _ = try hasLine(maximumBytes: maximumBytes) { bytes in
            guard bytes[...].firstPosition(of: text) != nil, let line = ConversationLine(bytes),
                isWanted(line)
            else { return false }
            found = line
            return true
        }
        return found
    }

    /// Returns whether `isWanted` returns true for the text of a line in about the last `maximumBytes`, latest first.
    func hasLine(maximumBytes: Int, where isWanted: ([UInt8]) -> Bool) throws(StoreError) -> Bool {
        var end = sizeBytes
        while end > 0, sizeBytes - end < maximumBytes {
            let part = try StoreError.naming(path) { () throws(SystemError) in
                try ConversationTail.lines(
                    of: file, endingAt: end, maximum: .max, maximumBytes: 1 << 20)
            }
            if part.lines.reversed().contains(where: isWanted) { return true }
            let read = part.lines.reduce(0) { $0 + $1.count + 1 }
            if read == 0 { return false }
            end = part.completeBytes - read
        }
        return false
    }
}

/// Parses consecutive lines, of which the last one must have the number `lastSequence`.
///
/// Throws ``StoreError/damaged(file:line:)`` for an invalid line.
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
