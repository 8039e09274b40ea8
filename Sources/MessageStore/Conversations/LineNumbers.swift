import BalloonJSON
import BalloonPOSIX

/// Finds lines of a conversation's file by their numbers, which increase without gaps.
struct LineNumbers {
    private let file: File
    private let path: String
    /// The size of all complete lines; an unfinished line may follow them.
    let endBytes: Int
    private let header: ConversationHeader

    private static let pieceBytes = 4 << 10

    init(_ path: String) throws(StoreError) {
        self.path = path
        (file, header, endBytes) = try StoreError.naming(path) { () throws(SystemError) in
            let file = try File(path, for: .reading)
            return (
                file, try ConversationHeader(of: file),
                try Self.startOfLine(in: file, before: file.sizeBytes(), notBefore: 0)
            )
        }
    }

    /// Returns the last lines before the offset `end`, which is where a line begins or the last one ends.
    func page(
        endingAt end: Int, _ maximum: Int, _ maximumBytes: Int
    ) throws(StoreError) -> ConversationFiles.Page {
        guard end > header.sizeBytes else { return try page([], from: end, to: end) }
        let lines = try StoreError.naming(path) { () throws(SystemError) in
            try ConversationTail.lines(
                of: file, endingAt: end, maximum: maximum, maximumBytes: maximumBytes
            ).lines
        }
        return try page(lines, from: end - lines.reduce(0) { $0 + $1.count + 1 }, to: end)
    }

    /// Returns the first lines from the offset `start`, which is where a line begins or the last one ends.
    func page(
        startingAt start: Int, _ maximum: Int, _ maximumBytes: Int
    ) throws(StoreError) -> ConversationFiles.Page {
        var lines: [[UInt8]] = []
        var (position, bytes) = (start, 0)
        while position < endBytes, lines.count < maximum {
            let end = try endOfLine(from: position)
            bytes += end - position
            if !lines.isEmpty, bytes > maximumBytes { break }
            lines.append(try read(at: position, count: end - position - 1))
            position = end
        }
        return try page(lines, from: start, to: position)
    }

    /// Returns the offset of the first line whose number is at least `number`; without one, `endBytes`.
    func offset(ofFirstFrom number: Int) throws(StoreError) -> Int {
        // Lines before `low` have smaller numbers; the line at `high` and later ones do not.
        var (low, high) = (min(header.sizeBytes, endBytes), endBytes)
        while low < high {
            let middle = low + (high - low) / 2
            let start = try StoreError.naming(path) { () throws(SystemError) in
                try Self.startOfLine(in: file, before: middle, notBefore: low)
            }
            if try self.number(at: start) < number {
                low = try endOfLine(from: middle)
            } else {
                high = start
            }
        }
        return low
    }

    private func page(
        _ lines: [[UInt8]], from start: Int, to end: Int
    ) throws(StoreError) -> ConversationFiles.Page {
        guard let last = lines.last else {
            return ConversationFiles.Page(
                lines: [], first: 0, last: 0, from: header.from, hasLater: end < endBytes)
        }
        return ConversationFiles.Page(
            lines: lines, first: try number(at: start), last: try number(at: end - last.count - 1),
            from: header.from, hasLater: end < endBytes)
    }

    /// Returns the offset after the last line feed before `place`; `first` when none follows that offset.
    private static func startOfLine(
        in file: File, before place: Int, notBefore first: Int
    ) throws(SystemError) -> Int {
        var end = place
        while end > first {
            let start = max(first, end - pieceBytes)
            let piece = try file.read(at: start, count: end - start)
            if let feed = piece.lastPosition(of: UInt8(ascii: "\n"), before: piece.count) {
                return start + feed + 1
            }
            end = start
        }
        return first
    }

    /// Returns the offset after the line feed of the line that contains the byte at `place`.
    private func endOfLine(from place: Int) throws(StoreError) -> Int {
        var start = place
        while start < endBytes {
            let piece = try read(at: start, count: min(Self.pieceBytes, endBytes - start))
            if let feed = piece.firstPosition(of: UInt8(ascii: "\n"), from: 0) { return start + feed + 1 }
            start += piece.count
        }
        return endBytes
    }

    /// The number of the line at this place.
    private func number(at start: Int) throws(StoreError) -> Int {
        let beginning = Array("{\"seq\":".utf8)
        let bytes = try read(at: start, count: min(beginning.count + 20, endBytes - start))
        let digits = bytes.dropFirst(beginning.count).prefix(while: \.isDigit)
        guard bytes.starts(with: beginning), let number = Int(String(decoding: digits, as: UTF8.self)) else {
            throw .damaged(file: path, line: 0)
        }
        return number
    }

    private func read(at offset: Int, count: Int) throws(StoreError) -> [UInt8] {
        let bytes: [UInt8] = try StoreError.naming(path) { () throws(SystemError) in
            try file.read(at: offset, count: count)
        }
        // A conversation's file only grows or is replaced: a shorter one was truncated by another program.
        guard bytes.count == count else { throw .damaged(file: path, line: 0) }
        return bytes
    }
}
