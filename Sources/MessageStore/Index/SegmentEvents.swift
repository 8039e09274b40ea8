import BalloonPOSIX
import BusinessMessages

/// The messages of one segment of the journal; when the segment has grown, only the appended part is read.
struct SegmentEvents: Sendable {
    /// The messages, and the records about earlier ones.
    private(set) var messages = JournalMessages()
    /// Whether the messages are cached; otherwise only the records about earlier ones are.
    private(set) var isLoaded = true
    /// Whether the segment was read after the last record was written to it.
    private(set) var isComplete = false
    /// The arrival time of the latest message.
    private(set) var latestAt: Timestamp?
    /// The offset behind the last line, where reading continues.
    private var endBytes = 0
    private var scan: SegmentScan

    init(_ segment: UInt64, abandoned: AbandonedRecords) {
        scan = SegmentScan(firstRecord: segment, abandoned: abandoned)
    }

    /// Drops the messages, and keeps the records about messages of earlier segments.
    mutating func drop() {
        messages.dropList()
        isLoaded = false
    }

    /// Reads what was appended since the last call, or everything after `drop`; returns the number of bytes.
    ///
    /// `isLast` says whether the segment is the journal's last one; only that one still grows.
    mutating func read(
        _ path: String, abandoned: AbandonedRecords, isLast: Bool
    ) throws(SystemError) -> Int {
        if !isLoaded { self = SegmentEvents(scan.segment, abandoned: abandoned) }
        let (begin, known) = (endBytes, messages.list.count)
        var lines = SegmentLines(try File(path, for: .reading), continuing: scan, at: endBytes)
        while let line = try lines.next() {
            // `SegmentLines` has verified the checksum, so the line is as the store wrote it.
            if let record = lines.record(of: line) { messages.apply(record) }
            endBytes = lines.location(of: line).endBytes
            scan = lines.scan
        }
        for message in messages.list[known...] { latestAt = max(latestAt ?? message.at, message.at) }
        isComplete = !isLast
        return endBytes - begin
    }
}
