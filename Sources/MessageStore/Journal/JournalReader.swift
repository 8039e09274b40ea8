import BalloonPOSIX

/// A journal's segments in their order: the only code that knows order, gaps and damage.
///
/// Recovery, lists and the verification all read through it. Damage stops no reading; it is in ``losses``.
struct JournalReader {
    /// Records that were on disk once and are gone, and where that shows.
    struct Loss: Hashable, Sendable {
        let records: ClosedRange<UInt64>
        /// The segment in which lines are broken, or behind which they are missing.
        let segment: UInt64
        /// The line where it was seen; 0 when all is missing between two segments.
        let line: Int
    }

    /// The segments by their first records.
    let segments: [UInt64]
    let abandoned: AbandonedRecords
    /// The names of segments that an earlier version set aside.
    let quarantined: [String]
    /// What is lost of the segments that were taken.
    private(set) var losses: [Loss] = []
    /// Segments with damage that lost no record, and the line.
    private(set) var blemishes: [(segment: UInt64, line: Int)] = []
    private(set) var lostNotes: Set<UInt64> = []
    private let directory: String
    /// The last segment that was taken and has records.
    private var last: (segment: UInt64, scan: SegmentScan)?

    /// Lists the segments in a folder, none when it is missing, and reads which records were given up.
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
                // A server that runs let it go meanwhile.
                if !error.isMissing { throw .unavailable(path: path, error) }
            }
        }
        self.abandoned = abandoned
    }

    func path(_ segment: UInt64) -> String { directory + "/" + SegmentName.text(firstRecord: segment) }

    /// The first thing that is wrong, as an error.
    var damage: StoreError? {
        if let loss = losses.min(by: { $0.records.lowerBound < $1.records.lowerBound }) {
            return .damaged(file: path(loss.segment), line: loss.line)
        }
        return blemishes.first.map { .damaged(file: path($0.segment), line: $0.line) }
    }

    /// Takes a segment that was read, in the order of ``segments``.
    mutating func take(_ segment: UInt64, _ scan: SegmentScan) {
        // Nothing is known of one without any line; if records come behind it, they show what is missing.
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

    /// Takes the end: a power cut may explain how the last segment ends.
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

    /// Forgets the segments that were taken: a server that runs let them go while they were read.
    private mutating func takeMissing() {
        last = nil
        losses = []
        blemishes = []
    }

    /// Reads every segment, in order; calls `body` with each record.
    ///
    /// Leaves out what is being written.
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
                // The checksum held, so this is what was written.
                guard let record = JournalRecord(lines.buffer[line.range], line.header) else { continue }
                try body(record, line.record, lines.location(of: line, in: segment))
            }
            take(segment, lines.scan)
        }
        finish()
    }

    /// The number of the last record that is in a file.
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
