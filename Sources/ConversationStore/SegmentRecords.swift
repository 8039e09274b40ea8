import BalloonPOSIX
import Dispatch
import Synchronization

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

    /// Reads several segments at once, one on each core.
    static func read(
        _ segments: ArraySlice<UInt64>, in directory: String, abandoned: AbandonedRecords
    ) throws(StoreError) -> [SegmentRecords] {
        let names = Array(segments)
        let results = Mutex<[UInt64: Result<SegmentRecords, StoreError>]>([:])
        DispatchQueue.concurrentPerform(iterations: names.count) { index in
            let path = directory + "/" + SegmentName.text(firstRecord: names[index])
            let result: Result<SegmentRecords, StoreError>
            do throws(SystemError) {
                result = .success(try SegmentRecords(path, segment: names[index], abandoned: abandoned))
            } catch {
                result = .failure(.unavailable(path: path, error))
            }
            results.withLock { $0[names[index]] = result }
        }
        let read = results.withLock { $0 }
        var records: [SegmentRecords] = []
        for name in names { if let result = read[name] { records.append(try result.get()) } }
        return records
    }
}
