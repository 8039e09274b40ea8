import BalloonPOSIX
import Logging

/// The file of a journal's snapshot, and whether it fits the journal.
struct SnapshotFile: Sendable {
    private let path: String
    private let journal: String
    private let configuration: StoreConfiguration

    init(_ configuration: StoreConfiguration) {
        let directory = DataDirectory(path: configuration.directory)
        path = directory.snapshot
        journal = directory.journal
        self.configuration = configuration
    }

    /// What a start goes on from.
    struct Restored {
        let state: RecoveredJournal
        let lastRecord: UInt64
        /// Those of the segments that are there still.
        let segments: [JournalSnapshot.Segment]
    }

    /// Reads the snapshot; nil, with the reason in the log, when a start must read everything.
    func read(_ segments: ArraySlice<UInt64>, logger: Logger) -> Restored? {
        guard Directory.exists(path) else { return nil }
        switch restore(segments) {
        case .success(let restored): return restored
        case .failure(let misfit):
            logger.notice(
                "the snapshot of the journal is not used; all of it is read",
                metadata: ["reason": "\(misfit.reason)"])
            return nil
        }
    }

    /// Writes a snapshot in the place of the one before.
    func write(_ snapshot: JournalSnapshot) throws(SystemError) {
        try AtomicFile.write(snapshot.encoded(), to: path)
    }

    private struct Misfit: Error { let reason: String }

    private func restore(_ segments: ArraySlice<UInt64>) -> Result<Restored, Misfit> {
        let bytes: [UInt8]
        // Where the disk says no, everything is read.
        do { bytes = try File(path, for: .reading).readAll() } catch {
            return .failure(Misfit(reason: "it cannot be read: \(error)"))
        }
        let empty = RecoveredJournal(configuration).index
        guard let snapshot = JournalSnapshot(bytes, emptyIndex: empty) else {
            return .failure(Misfit(reason: "it is damaged, of another version or made with other settings"))
        }
        guard let last = snapshot.segments.last else { return .failure(Misfit(reason: "it has no segments")) }
        let covered = segments.prefix { $0 <= last.first }
        let kept = snapshot.segments.suffix(covered.count)
        // The oldest may have gone meanwhile; no other may.
        guard let first = covered.first, kept.map(\.first) == Array(covered) else {
            return .failure(Misfit(reason: "it was made from other segments"))
        }
        for segment in kept {
            guard isAsItWas(segment, isLast: segment == last) else {
                return .failure(Misfit(reason: "a segment is not as it was"))
            }
        }
        guard let records = openRecords(snapshot) else {
            return .failure(Misfit(reason: "a record of an open message is not where it was"))
        }
        return .success(
            Restored(
                state: RecoveredJournal(configuration, snapshot, first: first, records: records),
                lastRecord: snapshot.lastRecord, segments: Array(kept)))
    }

    private func isAsItWas(_ segment: JournalSnapshot.Segment, isLast: Bool) -> Bool {
        let path = journal + "/" + SegmentName.text(firstRecord: segment.first)
        // What cannot be read does not fit.
        guard let file = try? File(path, for: .reading), let sizeBytes = try? file.sizeBytes(),
            isLast ? sizeBytes >= segment.endBytes : sizeBytes == segment.endBytes,
            segment.endBytes > JournalLine.checksumBytes,
            let tail = try? file.read(
                at: segment.endBytes - JournalLine.checksumBytes - 2, count: JournalLine.checksumBytes + 2)
        else { return false }
        return tail.last == UInt8(ascii: "\n")
            && JournalLine.checksum(of: tail.dropLast()) == segment.checksum
    }

    private func openRecords(_ snapshot: JournalSnapshot) -> [(JournalRecord, JournalSnapshot.Line)]? {
        let reader = SegmentReader(directory: journal)
        var records: [(JournalRecord, JournalSnapshot.Line)] = []
        for line in snapshot.openLines {
            // A line that is not what was written does not fit.
            guard let bytes = try? reader.bytes(at: line.location),
                let header = JournalLine.header(of: bytes[...]), header.record == line.record,
                let record = JournalRecord(bytes[...], header)
            else { return nil }
            records.append((record, line))
        }
        return records
    }
}
