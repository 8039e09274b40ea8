import BalloonPOSIX

/// Reads a journal's segments in order, and finds missing and damaged records.
///
/// Recovery, lists and verification all use this reader. Reading continues after damage, and ``losses`` has
/// the lost records.
struct JournalReader {
    /// A range of lost records that were on disk once, and the place where they are missing.
    struct Loss: Hashable, Sendable {
        let records: ClosedRange<UInt64>
        /// The segment with the broken lines, or the missing segment with the records.
        let segment: UInt64
        /// The number of the line at which the loss was found; 0 when records are missing between two segments.
        let line: Int
    }

    /// The segments in order, each as the number of its first record.
    let segments: [UInt64]
    let abandoned: AbandonedRecords
    /// The names of segment files that an earlier version of Balloon quarantined.
    let quarantined: [String]
    /// The losses in the segments read so far.
    private(set) var losses: [Loss] = []
    /// The segments that are damaged but have lost no record, and the damaged line of each.
    private(set) var blemishes: [(segment: UInt64, line: Int)] = []
    private(set) var lostNotes: Set<UInt64> = []
    private let directory: String
    /// The last segment with records that was read.
    private var last: SegmentScan?

    /// Lists the segments in a folder, and reads which records they declare abandoned.
    ///
    /// A missing folder has no segments.
    init(_ directory: String) throws(StoreError) {
        self.directory = directory
        var names: [String] = []
        if Directory.exists(directory) {
            try StoreError.naming(directory) { () throws(SystemError) in
                names = try Directory.names(in: directory)
            }
        }
        quarantined = names.filter { $0.hasSuffix(SegmentName.damagedSuffix) }.sorted()
        segments = names.compactMap(SegmentName.firstRecord).sorted()
        var abandoned = AbandonedRecords()
        for segment in segments {
            let path = SegmentName.path(segment, in: directory)
            do throws(SystemError) {
                let file = try File(path, for: .reading)
                abandoned.insert(fromStartOf: try file.read(at: 0, count: AbandonedRecords.startBytes))
            } catch {
                // A running server may have deleted the segment since it was listed.
                if !error.isMissing { throw .unavailable(path: path, error) }
            }
        }
        self.abandoned = abandoned
    }

    func path(_ segment: UInt64) -> String { SegmentName.path(segment, in: directory) }

    /// Opens a segment; nil when it is missing, because a running server has deleted it since it was listed.
    func open(_ segment: UInt64) throws(StoreError) -> SegmentLines? {
        do throws(SystemError) {
            return SegmentLines(
                try File(path(segment), for: .reading), firstRecord: segment, abandoned: abandoned)
        } catch {
            if error.isMissing { return nil }
            throw .unavailable(path: path(segment), error)
        }
    }

    /// The first damage found so far, as an error; nil when none was found.
    var damage: StoreError? {
        if let loss = losses.min(by: { $0.records.lowerBound < $1.records.lowerBound }) {
            return .damaged(file: path(loss.segment), line: loss.line)
        }
        return blemishes.first.map { .damaged(file: path($0.segment), line: $0.line) }
    }

    /// Adds the assessment of a segment that was read, and finds records that are missing before the segment.
    ///
    /// The segments must be added in the order of ``segments``.
    mutating func take(_ scan: SegmentScan) {
        // A segment without valid lines is skipped: the numbers of later records show which records are missing.
        guard scan.lines > 0 else { return }
        if let last {
            judge(last, isLast: false)
            if scan.segment > last.expected {
                // Behind an intact end, a whole segment is missing; its name is the number of its first record.
                let (line, missing) = (last.endLine, last.expected)
                for range in abandoned.remaining(in: missing...scan.segment - 1) {
                    losses.append(
                        Loss(records: range, segment: line > 0 ? last.segment : missing, line: line))
                }
            }
        }
        last = scan
    }

    /// Assesses the last segment; must be called after all segments were added.
    ///
    /// Only in the last segment, a power failure may explain a broken end.
    mutating func finish() {
        if let last { judge(last, isLast: true) }
        last = nil
    }

    private mutating func judge(_ scan: SegmentScan, isLast: Bool) {
        let inside = isLast ? scan.losses : scan.lossesInside
        losses += inside
        lostNotes.formUnion(scan.lostNotes)
        guard case .damaged(let line) = scan.verdict, inside.isEmpty else { return }
        blemishes.append((scan.segment, line))
    }

    /// Discards the findings so far, because a segment is missing.
    ///
    /// A running server deletes the oldest segments first, so all segments read so far are deleted as well.
    private mutating func takeMissing() {
        last = nil
        losses = []
        blemishes = []
    }

    /// Reads every segment from `first` on, in order, and calls `body` with each record.
    ///
    /// Omits records that a running server is writing at the moment.
    mutating func forEachRecord(
        from first: UInt64 = 0,
        _ body: (LocatedRecord) throws(StoreError) -> Void
    ) throws(StoreError) {
        for segment in segments where segment >= first {
            guard var lines = try open(segment) else {
                takeMissing()
                continue
            }
            while let line = try StoreError.naming(
                path(segment), { () throws(SystemError) in try lines.next() })
            {
                // A line with a correct checksum that is not JSON was written by another program, and is
                // skipped.
                guard let record = lines.record(of: line) else { continue }
                try body(record)
            }
            take(lines.scan)
        }
        finish()
    }

    /// Returns the number of the last record in the journal's files; 0 when there is none.
    func lastRecord() throws(StoreError) -> UInt64 { try end()?.record ?? 0 }

    /// Returns the last record in the journal's files, its segment, and the offset after its line feed.
    ///
    /// Returns nil when there is no record.
    func end() throws(StoreError) -> (record: UInt64, segment: UInt64, endBytes: Int)? {
        for segment in segments.reversed() {
            guard var lines = try open(segment) else { continue }
            var last: (record: UInt64, segment: UInt64, endBytes: Int)?
            try StoreError.naming(path(segment)) { () throws(SystemError) in
                while let line = try lines.next() {
                    last = (line.record, segment, lines.location(of: line).endBytes)
                }
            }
            if let last { return last }
        }
        return nil
    }
}
