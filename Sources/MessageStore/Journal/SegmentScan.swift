import BalloonJSON
import BalloonPOSIX

/// What is to be thought of a segment's lines, one after the other: which count, and what those that are missing or
/// broken say of the disk.
///
/// A value without effects. Lines of abandoned records do not count; blank lines are skipped by who reads.
struct SegmentScan: Sendable {
    /// An intact line.
    struct Line: Sendable {
        /// Where it stands in what was read, without its line feed.
        let range: Range<Int>
        let record: UInt64
    }

    /// What the text looks like.
    enum Verdict: Hashable, Sendable {
        /// Nothing is wrong.
        case sound
        /// The last batch was not written completely: what was acknowledged is all there.
        case powerCut(line: Int)
        /// A line that was on disk once is broken or gone. Lines count from 1.
        case damaged(line: Int)
    }

    private(set) var verdict = Verdict.sound
    /// How many lines count.
    private(set) var lines = 0
    /// How many pieces of the text are no lines.
    private(set) var brokenPieces = 0
    /// The number of the first line that counts.
    private(set) var firstRecord: UInt64?
    /// The number that the next line should have.
    private(set) var expected: UInt64

    private let abandoned: AbandonedRecords
    private var lastBatch: UInt64 = 0
    /// The first record that is missing, and the line where that was seen.
    private var firstMissing: (record: UInt64, line: Int)?
    /// The batch of the lines after the first missing record.
    private var lateBatch: UInt64?

    /// Begins a segment whose name says that it begins with `firstRecord`.
    init(firstRecord: UInt64, abandoned: AbandonedRecords) {
        expected = firstRecord
        self.abandoned = abandoned
    }

    var isDamaged: Bool { if case .damaged = verdict { true } else { false } }

    /// Judges the next piece of the text, which is not empty; returns the line in it when it counts.
    ///
    /// `number` is that of the line in the file; `isComplete` says whether a line feed followed.
    mutating func judge(_ bytes: [UInt8], _ piece: Range<Int>, number: Int, isComplete: Bool) -> Line? {
        var start = piece.lowerBound
        // A block that never reached the disk reads as zeros; the line behind it may be whole.
        while start < piece.upperBound, bytes[start] == 0 { start += 1 }
        let text = bytes[start..<piece.upperBound]
        guard JournalLine.isIntact(text), let header = JournalLine.header(of: text) else {
            brokenPieces += 1
            if !abandoned.contains(expected) { miss(expected, at: number, cut: true) }
            return nil
        }
        if abandoned.contains(header.record) {
            expected = max(expected, header.record + 1)
            return nil
        }
        guard header.record >= expected, header.batch >= lastBatch else {
            verdict = .damaged(line: number)
            return nil
        }
        if header.record > expected, !abandoned.contains(expected) { miss(expected, at: number, cut: false) }
        guard isOfLastBatch(header) else { return nil }
        if !isComplete || start > piece.lowerBound { verdict = .powerCut(line: number) }
        lines += 1
        if firstRecord == nil { firstRecord = header.record }
        expected = header.record + 1
        lastBatch = header.batch
        return Line(range: start..<piece.upperBound, record: header.record)
    }

    /// Lines may be missing only in the last batch: all that follow belong to it, and it began before them.
    private mutating func isOfLastBatch(_ header: JournalLine.Header) -> Bool {
        guard let firstMissing else { return true }
        let late = lateBatch ?? header.batch
        guard header.batch == late, late <= firstMissing.record else {
            verdict = .damaged(line: firstMissing.line)
            return false
        }
        lateBatch = late
        return true
    }

    private mutating func miss(_ record: UInt64, at line: Int, cut: Bool) {
        if firstMissing == nil { firstMissing = (record, line) }
        if cut, verdict == .sound { verdict = .powerCut(line: line) }
    }
}
