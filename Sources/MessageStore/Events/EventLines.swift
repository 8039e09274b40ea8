import BalloonPOSIX
import BusinessMessages

/// The result of a search for lines of one conversation.
struct FoundLines: Sendable {
    /// The lines that were found.
    fileprivate(set) var lines: [LineIdentity: FoundLine] = [:]
    /// True when lines that were not found are not in the file; false when the search ended before it had read the
    /// whole file.
    fileprivate(set) var isComplete = true
    /// The offset behind the last found line, where the next search begins; nil when nothing was found.
    fileprivate(set) var place: Int?
    /// The bytes that were read.
    fileprivate(set) var readBytes = 0
}

/// Finds lines in the files of conversations, without a lock and while the server writes them.
struct EventLines: Sendable {
    /// The folder of all conversations.
    let directory: String
    /// The maximum bytes that are read from one file in each direction.
    var maximumBytes = 64 << 20

    /// Searches one conversation's file in parts of about a megabyte: forward from `place` and then backward from
    /// `place`, or without a place backward from the end.
    ///
    /// A missing or quarantined file has no lines, and the search of a file that cannot be read is incomplete. Throws
    /// failures that may be temporary, such as too many open files.
    func find(
        _ wanted: Set<LineIdentity>, in conversation: ConversationKey, from place: Int? = nil
    ) throws(StoreError) -> FoundLines {
        let path = directory + "/" + ConversationPath.file(conversation)
        do throws(SystemError) {
            let file = try File(path, for: .reading)
            let end = try file.sizeBytes()
            let start = min(place ?? end, end)
            var search = LineSearch(file, for: wanted, place: place)
            try search.read(from: start, to: min(end, start + maximumBytes))
            try search.readBackward(from: start, to: max(0, start - maximumBytes))
            search.result.isComplete =
                search.isDone || end - start <= maximumBytes && start <= maximumBytes
            return search.result
        } catch {
            if error.isMissing { return FoundLines() }
            if error.isUnreadable || error.isForbidden {
                // An error here would stop the events of all conversations because of one unreadable file.
                var unread = FoundLines()
                unread.isComplete = false
                return unread
            }
            throw .unavailable(path: path, error)
        }
    }
}

private struct LineSearch {
    private let file: File
    private var missing: Set<LineIdentity>
    private let records: Set<UInt64>
    var result = FoundLines()

    private static let stepBytes = 1 << 20

    init(_ file: File, for wanted: Set<LineIdentity>, place: Int?) {
        self.file = file
        missing = wanted
        records = Set(wanted.map(\.record))
        result.place = place
    }

    var isDone: Bool { missing.isEmpty }

    mutating func read(from start: Int, to end: Int) throws(SystemError) {
        var offset = start
        var rest: [UInt8] = []
        while offset < end, !isDone {
            let piece = try file.read(at: offset, count: min(Self.stepBytes, end - offset))
            if piece.isEmpty { return }
            offset += piece.count
            result.readBytes += piece.count
            rest += piece
            var begin = 0
            while let feed = rest[begin...].firstIndex(of: UInt8(ascii: "\n")) {
                check(Array(rest[begin..<feed]), endingAt: offset - rest.count + feed + 1)
                begin = feed + 1
            }
            rest.removeFirst(begin)
        }
    }

    mutating func readBackward(from start: Int, to limit: Int) throws(SystemError) {
        var end = start
        while end > limit, !isDone {
            let part = try ConversationTail.lines(
                of: file, endingAt: end, maximum: .max, maximumBytes: min(Self.stepBytes, end - limit))
            var lineEnd = part.completeBytes
            for text in part.lines.reversed() {
                check(text, endingAt: lineEnd)
                lineEnd -= text.count + 1
            }
            result.readBytes += end - lineEnd
            if lineEnd == part.completeBytes { return }
            end = lineEnd
        }
    }

    private mutating func check(_ text: [UInt8], endingAt end: Int) {
        guard let record = Self.record(of: text), records.contains(record), let line = ConversationLine(text),
            missing.remove(line.identity) != nil
        else { return }
        result.lines[line.identity] = FoundLine(
            sequence: line.sequence, at: line.at, id: line.id, kind: line.kind, text: text[...])
        result.place = max(result.place ?? 0, end)
    }

    /// The record number in a line; parses the line as JSON only when it does not have the usual form.
    private static func record(of text: [UInt8]) -> UInt64? {
        var scanner = RecordScanner(text[...], from: 0)
        if text.starts(with: lineStart), let comma = text.firstIndex(of: UInt8(ascii: ",")) {
            scanner = RecordScanner(text[...], from: comma)
            while let name = scanner.nextName(), let value = scanner.value() {
                if case .number(let record) = value, scanner.name(name, is: recordName) { return record }
            }
        }
        return ConversationLine(text)?.record
    }

    private static let lineStart = Array("{\"seq\":".utf8)
    private static let recordName = Array("record".utf8)
}
