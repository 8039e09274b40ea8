import BalloonPOSIX

/// The records of one segment, read from its file.
struct SegmentRecords: Sendable {
    /// A record with its number and place.
    typealias Entry = (record: JournalRecord, number: UInt64, location: RecordLocation)

    let segment: UInt64
    private(set) var entries: [Entry] = []
    private(set) var scan: SegmentScan
    /// The last record's end in the file and its checksum; nil when the segment has no records.
    private(set) var end: JournalSnapshot.Segment?
    /// Whether a line with a correct checksum is not JSON; only another program can have written such a line.
    private(set) var isForeign = false

    /// Reads a segment's file.
    ///
    /// Stops after the record `last`.
    init(
        _ path: String, segment: UInt64, abandoned: AbandonedRecords, through last: UInt64 = .max
    ) throws(SystemError) {
        self.segment = segment
        let file = try File(path, for: .reading)
        var lines = SegmentLines(file, firstRecord: segment, abandoned: abandoned)
        entries.reserveCapacity(try file.sizeBytes() / 512)
        while let line = try lines.next() {
            guard let record = JournalRecord(lines.buffer[line.range], line.header) else {
                isForeign = true
                break
            }
            if line.record > last { break }
            entries.append((record, line.record, lines.location(of: line, in: segment)))
        }
        if let location = entries.last?.location {
            let line = try file.read(at: Int(location.offset), count: Int(location.lengthBytes))
            end = JournalSnapshot.Segment(
                first: segment, endBytes: Int(location.offset) + line.count + 1,
                checksum: JournalLine.checksum(of: line[...]) ?? 0)
        }
        scan = lines.scan
    }
}
