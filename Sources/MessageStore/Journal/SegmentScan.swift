import BalloonJSON
import BalloonPOSIX

/// What is to be thought of a segment's lines, one after the other: which count, which records are lost, and whether a power cut
/// explains that.
///
/// A value without effects. Lines of abandoned records do not count; blank lines are skipped by who reads. Lines behind damage
/// count as well: their checksums and numbers say that they are what was written.
struct SegmentScan: Sendable {
    /// An intact line.
    struct Line: Sendable {
        /// Where it stands in what was read, without its line feed.
        let range: Range<Int>
        let header: JournalLine.Header

        var record: UInt64 { header.record }
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

    /// Records that were on disk once and are not any more.
    struct Loss: Hashable, Sendable {
        let records: ClosedRange<UInt64>
        /// The line where that was seen.
        let line: Int
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
    /// What no power cut explains.
    private(set) var losses: [Loss] = []
    /// Lost records whose broken lines still say that they were no messages.
    private(set) var lostNotes: Set<UInt64> = []

    private let abandoned: AbandonedRecords
    private var lastBatch: UInt64 = 0
    /// What is missing in the batch that is being read: a power cut explains it when that is the last batch.
    private var gaps: [Loss] = []
    /// The first record that is missing in that batch, and the line where that was seen.
    private var firstMissing: (record: UInt64, line: Int)?
    /// The batch of the lines after the first missing record.
    private var lateBatch: UInt64?

    /// Begins a segment whose name says that it begins with `firstRecord`.
    init(firstRecord: UInt64, abandoned: AbandonedRecords) {
        expected = firstRecord
        self.abandoned = abandoned
    }

    /// Judges the next piece of the text, which is not empty; returns the line in it when it counts.
    ///
    /// `number` is that of the line in the file; `isComplete` says whether a line feed followed.
    mutating func judge(_ bytes: [UInt8], _ piece: Range<Int>, number: Int, isComplete: Bool) -> Line? {
        var start = piece.lowerBound
        // A block that never reached the disk reads as zeros; the line behind it may be whole.
        while start < piece.upperBound, bytes[start] == 0 { start += 1 }
        let text = bytes[start..<piece.upperBound]
        guard JournalLine.isIntact(text), let header = JournalLine.header(of: text) else {
            judgeBroken(text, number: number)
            return nil
        }
        if abandoned.contains(header.record) {
            expected = max(expected, header.record + 1)
            return nil
        }
        guard header.record >= expected else {
            damage(at: number)
            return nil
        }
        if header.batch < lastBatch { damage(at: number) }
        if header.record > expected {
            let missing = abandoned.remaining(in: expected...header.record - 1)
            if !missing.isEmpty { miss(expected, at: number, cut: false) }
            gaps += missing.map { Loss(records: $0, line: firstMissing?.line ?? number) }
        }
        judgeGaps(before: header)
        if !isComplete || start > piece.lowerBound, verdict == .sound { verdict = .powerCut(line: number) }
        lines += 1
        if firstRecord == nil { firstRecord = header.record }
        expected = header.record + 1
        lastBatch = max(lastBatch, header.batch)
        return Line(range: start..<piece.upperBound, header: header)
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

    /// Lines may be missing only in the last batch: all that follow belong to it, and it began before them.
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

    /// The line where the end is broken; 0 when it is not.
    var endLine: Int { if case .powerCut(let line) = verdict { line } else { 0 } }

    /// The losses of a segment behind which there are others, so that no power cut explains anything in it.
    var lossesInside: [Loss] {
        if case .sound = verdict { return losses }
        return losses + gaps
    }
}
