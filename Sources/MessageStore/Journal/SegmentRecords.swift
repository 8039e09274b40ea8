import BalloonPOSIX

/// The records of one segment, read from its file.
struct SegmentRecords: Sendable {
    /// A record, its number and where it stands.
    typealias Entry = (record: JournalRecord, number: UInt64, location: RecordLocation)

    let segment: UInt64
    private(set) var entries: [Entry] = []
    private(set) var scan: SegmentScan
    /// Whether an intact line is no JSON; it can only be another program's.
    private(set) var isForeign = false

    /// Reads a segment's file.
    init(_ path: String, segment: UInt64, abandoned: AbandonedRecords) throws(SystemError) {
        self.segment = segment
        let file = try File(path, for: .reading)
        var lines = SegmentLines(file, firstRecord: segment, abandoned: abandoned)
        entries.reserveCapacity(try file.sizeBytes() / 512)
        while let line = try lines.next() {
            guard let record = JournalRecord(lines.buffer[line.range]) else {
                isForeign = true
                break
            }
            entries.append((record, line.record, lines.location(of: line, in: segment)))
        }
        scan = lines.scan
    }
}
