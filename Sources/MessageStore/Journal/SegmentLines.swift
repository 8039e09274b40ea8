import BalloonPOSIX

/// Reads a segment's lines in sequence, in pieces that fit into the processor's cache.
///
/// The memory has one such piece, or the longest line.
struct SegmentLines {
    private let file: File
    /// The assessment of the lines so far.
    private(set) var scan: SegmentScan
    /// The bytes of the file that are in memory; they contain the last returned line until the next call.
    private(set) var buffer: [UInt8]
    /// The offset, in the file, of the buffer's first byte.
    private var origin = 0
    /// The range of bytes in the buffer that were read and not processed yet.
    private var rest = 0..<0
    private var number = 0
    private var isAtEnd = false
    /// The place of the first blank or broken text since the last valid line; nil when there is none.
    private var suspect: Suspect?
    /// The offset from which the file was last read a second time; it is not read from there a third time.
    private var readAgainAt: Int?

    /// A place in the file, and the assessment of the lines before it.
    private struct Suspect {
        let offset: Int
        let number: Int
        let scan: SegmentScan
    }

    init(_ file: File, firstRecord: UInt64, abandoned: AbandonedRecords, stepBytes: Int = 512 << 10) {
        self.file = file
        scan = SegmentScan(firstRecord: firstRecord, abandoned: abandoned)
        buffer = [UInt8](repeating: 0, count: stepBytes)
    }

    /// Continues after a line that was read earlier; `scan` is the assessment of the lines up to there.
    init(_ file: File, continuing scan: SegmentScan, at offset: Int, stepBytes: Int = 512 << 10) {
        self.file = file
        self.scan = scan
        origin = offset
        buffer = [UInt8](repeating: 0, count: stepBytes)
    }

    /// Returns the next valid line, with its range in ``buffer``; nil at the end of the file.
    mutating func next() throws(SystemError) -> SegmentScan.Line? {
        while true {
            guard let (piece, isComplete) = try nextPiece() else { return nil }
            if !piece.isEmpty, try readAgain(through: piece) { continue }
            let line = piece.isEmpty ? nil : SegmentScan.line(in: buffer, piece)
            if suspect == nil, line?.range != piece {
                suspect = Suspect(offset: origin + piece.lowerBound, number: number, scan: scan)
            }
            number += 1
            if piece.isEmpty {
                skipBlankLines()
                continue
            }
            if let line = scan.judge(line, in: buffer, piece, number: number, isComplete: isComplete) {
                suspect = nil
                return line
            }
        }
    }

    /// Skips all blank lines at once, because half a million of them may follow the last record of a journal.
    private mutating func skipBlankLines() {
        var position = rest.lowerBound
        while position < rest.upperBound, buffer[position] == UInt8(ascii: "\n") { position += 1 }
        number += position - rest.lowerBound
        rest = position..<rest.upperBound
    }

    /// Reads the file again from the first blank or broken text since the last line; returns whether it has
    /// changed.
    ///
    /// A running server writes a batch over blank lines. A reader may read the beginning of that place before
    /// the write, as blank lines, and the end after the write. Bytes are written in ascending order: once a
    /// reader has seen the end of a batch, its beginning is in the file. Each place is read again only once.
    private mutating func readAgain(through piece: Range<Int>) throws(SystemError) -> Bool {
        guard let suspect, suspect.offset < origin + piece.lowerBound, suspect.offset != readAgainAt else {
            return false
        }
        readAgainAt = suspect.offset
        if suspect.offset >= origin {
            let range = suspect.offset - origin..<piece.upperBound
            let bytes = try file.read(at: suspect.offset, count: range.count)
            guard bytes.count == range.count, bytes[...] != buffer[range] else { return false }
            buffer.replaceSubrange(range, with: bytes)
            rest = range.lowerBound..<rest.upperBound
        } else {
            (origin, rest, isAtEnd) = (suspect.offset, 0..<0, false)
        }
        (number, scan) = (suspect.number, suspect.scan)
        self.suspect = nil
        return true
    }

    /// Returns the place of a line in the segment.
    func location(of line: SegmentScan.Line) -> RecordLocation {
        RecordLocation(
            segment: scan.segment, offset: UInt32(origin + line.range.lowerBound),
            lengthBytes: UInt32(line.range.count))
    }

    /// Parses the line that was returned last; nil when it is not JSON, so that another program wrote it.
    func record(of line: SegmentScan.Line) -> LocatedRecord? {
        JournalRecord(buffer[line.range], line.header).map {
            LocatedRecord(record: $0, number: line.record, location: location(of: line))
        }
    }

    /// Returns the bytes before the next line feed; at the end of the file, the bytes that no line feed
    /// follows.
    private mutating func nextPiece() throws(SystemError) -> (range: Range<Int>, isComplete: Bool)? {
        var searched = rest.lowerBound
        while true {
            let unsearched = searched..<rest.upperBound
            if let feed = buffer.firstPosition(of: UInt8(ascii: "\n"), in: unsearched) {
                let piece = rest.lowerBound..<feed
                rest = feed + 1..<rest.upperBound
                return (piece, true)
            }
            if isAtEnd {
                defer { rest = rest.upperBound..<rest.upperBound }
                return rest.isEmpty ? nil : (rest, false)
            }
            let length = rest.count
            try fill()
            searched = rest.lowerBound + length
        }
    }

    /// Moves the unprocessed bytes to the front of the buffer, and reads more.
    private mutating func fill() throws(SystemError) {
        if rest.lowerBound > 0 {
            let left = rest.count
            for index in 0..<left { buffer[index] = buffer[rest.lowerBound + index] }
            origin += rest.lowerBound
            rest = 0..<left
        } else if rest.upperBound == buffer.count {
            buffer.append(contentsOf: repeatElement(0, count: buffer.count))
        }
        let got = try file.read(at: origin + rest.upperBound, into: &buffer, from: rest.upperBound)
        isAtEnd = rest.upperBound + got < buffer.count
        rest = rest.lowerBound..<rest.upperBound + got
    }
}
