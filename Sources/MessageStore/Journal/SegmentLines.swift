import BalloonPOSIX

/// Reads a segment's lines in sequence, in pieces that fit into the processor's cache.
///
/// It holds one such piece in memory, or the longest line.
struct SegmentLines {
    private let file: File
    /// The assessment of the lines so far.
    private(set) var scan: SegmentScan
    /// A piece of the file, which contains the last returned line until the next call.
    private(set) var buffer: [UInt8]
    /// The offset of the buffer in the file.
    private var origin = 0
    /// The bytes that were read and not processed yet.
    private var rest = 0..<0
    private var number = 0
    private var isAtEnd = false
    /// The offset in the file of the last piece that was read again.
    private var readAgainAt: Int?

    init(_ file: File, firstRecord: UInt64, abandoned: AbandonedRecords, stepBytes: Int = 512 << 10) {
        self.file = file
        scan = SegmentScan(firstRecord: firstRecord, abandoned: abandoned)
        buffer = [UInt8](repeating: 0, count: stepBytes)
    }

    /// The next valid line, with its range in ``buffer``; nil at the end.
    mutating func next() throws(SystemError) -> SegmentScan.Line? {
        while true {
            guard let (piece, isComplete) = try nextPiece() else { return nil }
            number += 1
            if piece.isEmpty { continue }
            let line = SegmentScan.line(in: buffer, piece)
            if isComplete, line?.range != piece, try readAgain(piece) {
                number -= 1
                continue
            }
            if let line = scan.judge(line, in: buffer, piece, number: number, isComplete: isComplete) {
                return line
            }
        }
    }

    /// Reads a broken piece once more; returns false when that was done before, or finds the same text.
    ///
    /// A running server may have written the piece while it was read: its beginning reads as zeros, and its end as text.
    /// Bytes are written in ascending order, so that the beginning is in the file once the end was seen.
    private mutating func readAgain(_ piece: Range<Int>) throws(SystemError) -> Bool {
        guard readAgainAt != origin + piece.lowerBound else { return false }
        readAgainAt = origin + piece.lowerBound
        let bytes = try file.read(at: origin + piece.lowerBound, count: piece.count)
        guard bytes.count == piece.count, bytes[...] != buffer[piece] else { return false }
        buffer.replaceSubrange(piece, with: bytes)
        rest = piece.lowerBound..<rest.upperBound
        return true
    }

    /// The place of a line in the file.
    func location(of line: SegmentScan.Line, in segment: UInt64) -> RecordLocation {
        RecordLocation(
            segment: segment, offset: UInt32(origin + line.range.lowerBound),
            lengthBytes: UInt32(line.range.count))
    }

    /// The bytes before the next line feed, or at the end without one.
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

    /// Moves the rest to the front and reads more.
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
