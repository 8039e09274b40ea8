import BalloonPOSIX

/// Writes batches of records to segments, with one write and one sync for each batch.
///
/// After a failed write or sync, the writer stops using the segment, and truncates it to its synced size. The
/// next segment begins with a line that declares the records of the failed batch abandoned.
struct JournalWriter: Sendable {
    private let directory: String
    private let disk: any StoreDisk
    private let maximumSegmentBytes: Int
    private let maximumSegmentAge: Duration
    private let preparedBytes: Int
    private let reader: SegmentReader
    private var nextRecord: UInt64
    private var segment: Segment?
    private var abandoned: ClosedRange<UInt64>?
    /// The records that a repair removed, and that the next segment declares abandoned.
    private var declared: [ClosedRange<UInt64>] = []
    private var lines: [UInt8] = []
    /// The segments with records, each with the end of its last record.
    private(set) var ends: [JournalSnapshot.End]

    private struct Segment {
        let file: File
        let firstRecord: UInt64
        /// The time at which the segment was created, on a monotonic clock, so that changes of the wall clock
        /// have no effect.
        let began = ContinuousClock.now
        var syncedBytes = 0
        /// The size of the file, including preallocated line feeds.
        var fileBytes = 0
        /// Whether the segment has other records than its first line and its declarations of abandoned
        /// records.
        var hasEntries = false
    }

    /// The maximum size of the buffer that is kept for the next batch.
    private static let keptBufferBytes = 4 << 20
    /// How long after a failed preallocation none is tried, so that records get the free space.
    private static let pause = Duration.seconds(600)
    private var preparesAgain: ContinuousClock.Instant?

    init(
        _ configuration: StoreConfiguration, directory: String, reader: SegmentReader, nextRecord: UInt64,
        ends: [JournalSnapshot.End] = []
    ) {
        self.ends = ends
        self.directory = directory
        self.reader = reader
        self.nextRecord = nextRecord
        disk = configuration.disk
        maximumSegmentBytes = configuration.maximumSegmentBytes
        maximumSegmentAge = configuration.maximumSegmentAge
        preparedBytes = configuration.preparedBytes
    }

    /// The number of the last assigned record.
    var lastRecord: UInt64 { nextRecord - 1 }

    /// Writes the entries as one batch, and waits until the batch is on disk.
    ///
    /// Throws when the write or the sync failed; then none of the entries is in the journal.
    mutating func commit(_ entries: [JournalEntry]) throws(SystemError) -> [JournalledRecord] {
        lines.removeAll(keepingCapacity: lines.capacity <= Self.keptBufferBytes)
        let batch = nextRecord
        var segment: Segment
        if let open = self.segment { segment = open } else { segment = try makeSegment(batch: batch) }
        var records: [JournalledRecord] = []
        records.reserveCapacity(entries.count)
        for entry in entries {
            let number = nextRecord
            let start = lines.count
            add(entry.body, batch: batch)
            let location = RecordLocation(
                segment: segment.firstRecord, offset: UInt32(segment.syncedBytes + start),
                lengthBytes: UInt32(lines.count - start - 1))
            records.append(JournalledRecord(number: number, location: location))
        }
        do throws(SystemError) {
            try disk.write(lines, to: segment.file, at: segment.syncedBytes)
            try disk.synchronize(segment.file)
        } catch {
            abandon(segment, from: batch)
            throw error
        }
        abandoned = nil
        declared = []
        segment.syncedBytes += lines.count
        segment.fileBytes = max(segment.fileBytes, segment.syncedBytes)
        if !entries.isEmpty { segment.hasEntries = true }
        if ends.last?.first == segment.firstRecord { ends.removeLast() }
        ends.append(JournalSnapshot.End(first: segment.firstRecord, bytes: segment.syncedBytes))
        self.segment = segment
        if segment.syncedBytes >= maximumSegmentBytes { end() }
        endIfOld()
        return records
    }

    /// Forgets the segments before this one, because they are deleted.
    mutating func removeEnds(before segment: UInt64) { ends.removeAll { $0.first < segment } }

    /// Preallocates the segment: fills the space after its records with line feeds, which later batches
    /// overwrite.
    ///
    /// The sync of such a batch is faster, because neither the size nor the blocks of the file change.
    /// Readers skip blank lines. The journal calls this function when no caller waits for a batch.
    mutating func prepare() {
        guard var segment, segment.fileBytes - segment.syncedBytes < preparedBytes / 8 else { return }
        if let preparesAgain, ContinuousClock.now < preparesAgain { return }
        let end = min(segment.syncedBytes + preparedBytes, maximumSegmentBytes)
        guard end > segment.fileBytes else { return }
        do throws(SystemError) {
            try disk.fill(segment.file, segment.fileBytes..<end)
            segment.fileBytes = end
            self.segment = segment
            preparesAgain = nil
        } catch {
            // No record is lost, but the content of the file after the records is unknown. The next segment
            // declares one unused record number abandoned, so that readers ignore that content.
            preparesAgain = .now + Self.pause
            nextRecord += 1
            abandon(segment, from: nextRecord - 1)
        }
    }

    /// Ends the current segment, and removes its preallocated blank lines.
    mutating func end() {
        guard let segment else { return }
        self.segment = nil
        // If the truncation fails, blank lines remain, which is harmless.
        if segment.fileBytes > segment.syncedBytes {
            try? disk.truncate(segment.file, to: segment.syncedBytes)
        }
    }

    /// Ends the current segment when it is older than `maximumSegmentAge`; returns whether it did.
    @discardableResult
    mutating func endIfOld() -> Bool {
        guard let segment, segment.hasEntries, ContinuousClock.now - segment.began >= maximumSegmentAge
        else { return false }
        end()
        return true
    }

    /// Ends the current segment when it has records; returns whether it did.
    mutating func endIfUsed() -> Bool {
        guard segment?.hasEntries ?? false else { return false }
        end()
        return true
    }

    /// Ends the current segment; the next one also declares these records abandoned.
    mutating func declare(_ records: [ClosedRange<UInt64>]) {
        end()
        declared += records
    }

    /// Cancels a declaration that is not on disk yet; returns false when there is none.
    mutating func withdraw() -> Bool {
        defer { declared = [] }
        return !declared.isEmpty
    }

    private mutating func makeSegment(batch: UInt64) throws(SystemError) -> Segment {
        let path = SegmentName.path(batch, in: directory)
        let file: File
        do throws(SystemError) { file = try disk.create(path) } catch {
            // The next attempt uses the same name, so remove a file that this attempt may have created. A
            // file that existed before stays.
            if !error.isExisting { try? disk.remove(path) }
            throw error
        }
        reader.add(file, firstRecord: batch)
        add(JournalBody.segment(at: .now()), batch: batch)
        if let abandoned { add(JournalBody.abandoned(abandoned), batch: batch) }
        for records in declared { add(JournalBody.abandoned(records), batch: batch) }
        return Segment(file: file, firstRecord: batch)
    }

    private mutating func add(_ body: [UInt8], batch: UInt64) {
        JournalLine.write(body: body, record: nextRecord, batch: batch, onto: &lines)
        nextRecord += 1
    }

    private mutating func abandon(_ failed: Segment, from batch: UInt64) {
        abandoned = (abandoned?.lowerBound ?? batch)...(nextRecord - 1)
        segment = nil
        // If the truncation fails, readers ignore the remaining lines, because the next segment declares them
        // abandoned.
        if failed.syncedBytes > 0 {
            try? disk.truncate(failed.file, to: failed.syncedBytes)
        } else {
            reader.remove(firstRecord: failed.firstRecord)
            try? disk.truncate(failed.file, to: 0)
            try? disk.remove(SegmentName.path(failed.firstRecord, in: directory))
        }
    }
}
