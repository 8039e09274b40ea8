import BalloonPOSIX

/// A journal's segments in order: the only code that handles order, gaps and damage.
///
/// Recovery, lists and verification use it. Damage does not stop reading; it is reported in ``losses``.
struct JournalReader {
    /// Lost records that were on disk once, and the place of the loss.
    struct Loss: Hashable, Sendable {
        let records: ClosedRange<UInt64>
        /// The segment with broken lines, or the one before missing lines.
        let segment: UInt64
        /// The line of the loss; 0 when records are missing between two segments.
        let line: Int
    }

    /// The segments by their first records.
    let segments: [UInt64]
    let abandoned: AbandonedRecords
    /// The names of segments that an earlier version quarantined.
    let quarantined: [String]
    /// The losses in the segments read so far.
    private(set) var losses: [Loss] = []
    /// Segments with damage that lost no record, with the line.
    private(set) var blemishes: [(segment: UInt64, line: Int)] = []
    private(set) var lostNotes: Set<UInt64> = []
    private let directory: String
    /// The last segment with records that was read.
    private var last: (segment: UInt64, scan: SegmentScan)?

    /// Lists the segments in a folder, none when it is missing, and reads the abandoned records.
    init(_ directory: String) throws(StoreError) {
        self.directory = directory
        var names: [String] = []
        if Directory.exists(directory) {
            do throws(SystemError) { names = try Directory.names(in: directory) } catch {
                throw .unavailable(path: directory, error)
            }
        }
        quarantined = names.filter { $0.hasSuffix(SegmentName.damagedSuffix) }.sorted()
        segments = names.compactMap(SegmentName.firstRecord).sorted()
        var abandoned = AbandonedRecords()
        for segment in segments {
            let path = directory + "/" + SegmentName.text(firstRecord: segment)
            do throws(SystemError) {
                let file = try File(path, for: .reading)
                abandoned.insert(fromStartOf: try file.read(at: 0, count: AbandonedRecords.startBytes))
            } catch {
                // A running server deleted it meanwhile.
                if !error.isMissing { throw .unavailable(path: path, error) }
            }
        }
        self.abandoned = abandoned
    }

    func path(_ segment: UInt64) -> String { directory + "/" + SegmentName.text(firstRecord: segment) }

    /// The first problem, as an error.
    var damage: StoreError? {
        if let loss = losses.min(by: { $0.records.lowerBound < $1.records.lowerBound }) {
            return .damaged(file: path(loss.segment), line: loss.line)
        }
        return blemishes.first.map { .damaged(file: path($0.segment), line: $0.line) }
    }

    /// Processes a segment that was read, in the order of ``segments``.
    mutating func take(_ segment: UInt64, _ scan: SegmentScan) {
        // A segment without lines tells nothing; later records show which ones are missing.
        guard scan.lines > 0 else { return }
        if let last {
            judge(last.segment, last.scan, isLast: false)
            if segment > last.scan.expected {
                for range in abandoned.remaining(in: last.scan.expected...segment - 1) {
                    losses.append(Loss(records: range, segment: last.segment, line: last.scan.endLine))
                }
            }
        }
        last = (segment, scan)
    }

    /// Processes the end: a power failure may explain the end of the last segment.
    mutating func finish() {
        if let last { judge(last.segment, last.scan, isLast: true) }
        last = nil
    }

    private mutating func judge(_ segment: UInt64, _ scan: SegmentScan, isLast: Bool) {
        let inside = isLast ? scan.losses : scan.lossesInside
        losses += inside.map { Loss(records: $0.records, segment: segment, line: $0.line) }
        lostNotes.formUnion(scan.lostNotes)
        guard case .damaged(let line) = scan.verdict, inside.isEmpty else { return }
        blemishes.append((segment, line))
    }

    /// Drops the segments read so far: a running server deleted them meanwhile.
    private mutating func takeMissing() {
        last = nil
        losses = []
        blemishes = []
    }

    /// Reads every segment, in order; calls `body` with each record.
    ///
    /// Omits records that are being written.
    mutating func forEachRecord(
        _ body: (JournalRecord, UInt64, RecordLocation) throws(StoreError) -> Void
    ) throws(StoreError) {
        for segment in segments {
            var lines: SegmentLines
            do throws(SystemError) {
                lines = SegmentLines(
                    try File(path(segment), for: .reading), firstRecord: segment, abandoned: abandoned)
            } catch {
                guard error.isMissing else { throw .unavailable(path: path(segment), error) }
                takeMissing()
                continue
            }
            while let line = try next(&lines, of: segment) {
                // The checksum is correct, so this is what was written.
                guard let record = JournalRecord(lines.buffer[line.range], line.header) else { continue }
                try body(record, line.record, lines.location(of: line, in: segment))
            }
            take(segment, lines.scan)
        }
        finish()
    }

    /// The number of the last record in a file.
    func lastRecord() throws(StoreError) -> UInt64 {
        for segment in segments.reversed() {
            do throws(SystemError) {
                let file = try File(path(segment), for: .reading)
                var lines = SegmentLines(file, firstRecord: segment, abandoned: abandoned)
                var last: UInt64?
                while let line = try lines.next() { last = line.record }
                if let last { return last }
            } catch {
                if !error.isMissing { throw .unavailable(path: path(segment), error) }
            }
        }
        return 0
    }

    private func next(_ lines: inout SegmentLines, of segment: UInt64) throws(StoreError) -> SegmentScan.Line?
    {
        do throws(SystemError) { return try lines.next() } catch {
            throw .unavailable(path: path(segment), error)
        }
    }
}
