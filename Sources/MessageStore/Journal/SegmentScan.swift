import BalloonJSON
import BalloonPOSIX

/// Assesses a segment's lines in sequence: which are valid, which records are lost, and whether a power
/// failure explains the losses.
///
/// A value without side effects. Lines of abandoned records are not valid. Lines after damage are valid,
/// because their checksums and numbers prove that they were written. Blank lines are skipped before they get
/// here.
struct SegmentScan: Sendable {
    /// A line with a correct checksum and a parsed start.
    struct Line: Sendable {
        /// The range of the line in the buffer, without its line feed.
        let range: Range<Int>
        let header: JournalLine.Header

        var record: UInt64 { header.record }
    }

    /// The assessment of the segment.
    enum Verdict: Hashable, Sendable {
        /// All lines are valid, and no record is missing.
        case sound
        /// The last batch was not written completely, so its callers got no answer; all acknowledged records
        /// exist.
        case powerCut(line: Int)
        /// A line that was on disk once is broken or missing. Lines count from 1.
        case damaged(line: Int)
    }

    /// The number in the segment's name.
    let segment: UInt64
    private(set) var verdict = Verdict.sound
    /// The number of valid lines.
    private(set) var lines = 0
    /// The number of broken pieces: texts between two line feeds that contain no intact line.
    private(set) var brokenPieces = 0
    /// The record number of the first valid line; nil when there is none.
    private(set) var firstRecord: UInt64?
    /// The record number that the next line should have.
    private(set) var expected: UInt64
    /// The losses that a power failure cannot explain.
    private(set) var losses: [JournalReader.Loss] = []
    /// The lost records that were not messages, which their broken lines still show.
    private(set) var lostNotes: Set<UInt64> = []

    private let abandoned: AbandonedRecords
    /// The missing records that a power failure explains if no later batch follows.
    private var gaps: [JournalReader.Loss] = []
    /// The first of these missing records, and the line at which it was detected.
    private var firstMissing: (record: UInt64, line: Int)?
    /// The batch of the lines after the first missing record.
    private var lateBatch: UInt64?

    /// Starts the assessment of the segment whose name has the number `firstRecord`.
    init(firstRecord: UInt64, abandoned: AbandonedRecords) {
        (segment, expected) = (firstRecord, firstRecord)
        self.abandoned = abandoned
    }

    /// Returns the intact line at the end of a piece of the text; nil when there is none.
    ///
    /// Zeros before the line are skipped: a block that never reached the disk reads as zeros.
    static func line(in bytes: [UInt8], _ piece: Range<Int>) -> Line? {
        let text = bytes[start(of: bytes, piece)..<piece.upperBound]
        guard JournalLine.isIntact(text), let header = JournalLine.header(of: text) else { return nil }
        return Line(range: text.startIndex..<text.endIndex, header: header)
    }

    private static func start(of bytes: [UInt8], _ piece: Range<Int>) -> Int {
        var start = piece.lowerBound
        while start < piece.upperBound, bytes[start] == 0 { start += 1 }
        return start
    }

    /// Assesses the next piece of the text; returns the intact `line` in it when that line is valid,
    /// otherwise nil.
    ///
    /// The piece is not empty. `number` is its line number in the file, and `isComplete` tells whether a line
    /// feed followed.
    mutating func judge(
        _ line: Line?, in bytes: [UInt8], _ piece: Range<Int>, number: Int, isComplete: Bool
    ) -> Line? {
        guard let line else {
            judgeBroken(bytes[Self.start(of: bytes, piece)..<piece.upperBound], number: number)
            return nil
        }
        let (header, start) = (line.header, line.range.lowerBound)
        if abandoned.contains(header.record) {
            expected = max(expected, header.record + 1)
            return nil
        }
        guard header.record >= expected else {
            damage(at: number)
            return nil
        }
        if header.record > expected {
            let missing = abandoned.remaining(in: expected...header.record - 1)
            if !missing.isEmpty { miss(expected, at: number, cut: false) }
            gaps += missing.map {
                JournalReader.Loss(records: $0, segment: segment, line: firstMissing?.line ?? number)
            }
        }
        judgeGaps(before: header)
        if !isComplete || start > piece.lowerBound, verdict == .sound { verdict = .powerCut(line: number) }
        lines += 1
        if firstRecord == nil { firstRecord = header.record }
        expected = header.record + 1
        return line
    }

    private mutating func judgeBroken(_ text: ArraySlice<UInt8>, number: Int) {
        brokenPieces += 1
        if !abandoned.contains(expected) { miss(expected, at: number, cut: true) }
        if let header = JournalLine.header(of: text), header.record >= expected,
            [UInt8](text[header.type]) != Array("message".utf8)
        {
            lostNotes.insert(header.record)
        }
    }

    /// Decides whether missing lines are damage.
    ///
    /// A power failure may remove lines of the last batch only. The gap is therefore harmless while all
    /// following lines belong to the batch of the missing lines.
    private mutating func judgeGaps(before header: JournalLine.Header) {
        guard let firstMissing else { return }
        let late = lateBatch ?? header.batch
        if header.batch == late, late <= firstMissing.record {
            lateBatch = late
            return
        }
        damage(at: firstMissing.line)
        losses += gaps
        gaps = []
        self.firstMissing = nil
        lateBatch = nil
    }

    private mutating func damage(at line: Int) {
        if case .damaged = verdict { return }
        verdict = .damaged(line: line)
    }

    private mutating func miss(_ record: UInt64, at line: Int, cut: Bool) {
        if firstMissing == nil { firstMissing = (record, line) }
        if cut, verdict == .sound { verdict = .powerCut(line: line) }
    }

    /// The number of the line at which the segment's end is broken; 0 when the end is intact.
    var endLine: Int { if case .powerCut(let line) = verdict { line } else { 0 } }

    /// The losses if this is not the last segment: then a power failure explains none of them.
    var lossesInside: [JournalReader.Loss] {
        if case .sound = verdict { return losses }
        return losses + gaps
    }
}
