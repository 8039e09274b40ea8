import BalloonPOSIX

/// The records of one segment, read from its file.
struct SegmentRecords: Sendable {
    private(set) var entries: [LocatedRecord] = []
    private(set) var scan: SegmentScan
    /// Whether a line with a correct checksum is not JSON; only another program can have written such a line.
    private(set) var isForeign = false

    /// Reads a segment's file.
    init(_ path: String, segment: UInt64, abandoned: AbandonedRecords) throws(SystemError) {
        let file = try File(path, for: .reading)
        var lines = SegmentLines(file, firstRecord: segment, abandoned: abandoned)
        entries.reserveCapacity(try file.sizeBytes() / 512)
        while let line = try lines.next() {
            guard let record = lines.record(of: line) else {
                isForeign = true
                break
            }
            entries.append(record)
        }
        scan = lines.scan
    }
}
