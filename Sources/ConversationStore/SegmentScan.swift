import BalloonJSON
import BalloonPOSIX

/// The lines of a segment's bytes, and what is to be thought of those that are missing or broken.
///
/// A value computed from bytes alone. Lines of abandoned records are left out; blank lines are skipped.
struct SegmentScan: Sendable {
    /// An intact line.
    struct Line: Sendable {
        /// Where it stands, without its line feed.
        let range: Range<Int>
        let record: UInt64
        let batch: UInt64
    }

    /// What the bytes look like.
    enum Verdict: Hashable, Sendable {
        /// Nothing is wrong.
        case sound
        /// The last batch was not written completely: what was acknowledged is all there.
        case powerCut(line: Int)
        /// A line that was on disk once is broken or gone. Lines count from 1.
        case damaged(line: Int)
    }

    private(set) var lines: [Line] = []
    private(set) var verdict = Verdict.sound
    /// How many pieces of the text are no lines.
    private(set) var brokenPieces = 0

    private var expected: UInt64
    private var lastBatch: UInt64 = 0
    /// The first record that is missing, and the line where that was seen.
    private var firstMissing: (record: UInt64, line: Int)?
    /// The batch of the lines after the first missing record.
    private var lateBatch: UInt64?

    /// Scans a segment whose name says that it begins with `firstRecord`.
    init(_ bytes: [UInt8], firstRecord: UInt64, abandoned: AbandonedRecords) {
        expected = firstRecord
        lines.reserveCapacity(bytes.count / 512)
        var start = 0
        var number = 1
        while start < bytes.count {
            let feed = bytes.firstPosition(of: UInt8(ascii: "\n"), from: start)
            let end = feed ?? bytes.count
            if end > start { add(bytes, start..<end, number: number, isComplete: feed != nil, abandoned) }
            if case .damaged = verdict { return }
            start = end + 1
            number += 1
        }
    }

    private mutating func add(
        _ bytes: [UInt8], _ piece: Range<Int>, number: Int, isComplete: Bool, _ abandoned: AbandonedRecords
    ) {
        // A block that never reached the disk reads as zeros; the line behind it may be whole.
        let start = piece.first { bytes[$0] != 0 } ?? piece.upperBound
        let text = bytes[start..<piece.upperBound]
        guard JournalLine.isIntact(text), let header = JournalLine.header(of: text) else {
            brokenPieces += 1
            if !abandoned.contains(expected) { miss(expected, at: number, cut: true) }
            return
        }
        if abandoned.contains(header.record) {
            expected = max(expected, header.record + 1)
            return
        }
        guard header.record >= expected, header.batch >= lastBatch else {
            return verdict = .damaged(line: number)
        }
        if header.record > expected, !abandoned.contains(expected) { miss(expected, at: number, cut: false) }
        if let firstMissing {
            // Lines may be missing only in the last batch: all that follow belong to it, and it began before
            // them.
            let late = lateBatch ?? header.batch
            guard header.batch == late, late <= firstMissing.record else {
                return verdict = .damaged(line: firstMissing.line)
            }
            lateBatch = late
        }
        if !isComplete || start > piece.lowerBound { verdict = .powerCut(line: number) }
        lines.append(Line(range: start..<piece.upperBound, record: header.record, batch: header.batch))
        expected = header.record + 1
        lastBatch = header.batch
    }

    private mutating func miss(_ record: UInt64, at line: Int, cut: Bool) {
        if firstMissing == nil { firstMissing = (record, line) }
        if cut, verdict == .sound { verdict = .powerCut(line: line) }
    }
}

/// The records that failed to reach the disk and were answered so, whatever is in the files.
struct AbandonedRecords: Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    mutating func insert(_ range: ClosedRange<UInt64>) { ranges.append(range) }

    /// Reads what the second line of a segment may say.
    mutating func insert(fromStartOf segment: [UInt8]) {
        for line in segment.split(separator: UInt8(ascii: "\n"), maxSplits: 2).prefix(2) {
            guard JournalLine.isIntact(line), let document = try? JSONDocument(Array(line), limits: .journal),
                document.root["type"]?.equals("abandoned") ?? false,
                let from = document.root["from"]?.int, let to = document.root["to"]?.int, 0 < from, from <= to
            else { continue }
            insert(UInt64(from)...UInt64(to))
        }
    }

    func contains(_ record: UInt64) -> Bool {
        !ranges.isEmpty && ranges.contains { $0.contains(record) }
    }
}
