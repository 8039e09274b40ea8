import BalloonPOSIX
import Logging

/// Reads and writes the file of a journal's snapshot, and checks that the snapshot matches the journal.
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

    /// The state that a usable snapshot restores; a start applies the later records to it.
    struct Restored {
        let state: RecoveredJournal
        let lastRecord: UInt64
        /// The segments that the snapshot covers and that still exist.
        let segments: [JournalSnapshot.Segment]
    }

    /// Reads the snapshot; nil when the file is missing or does not match the journal.
    ///
    /// A mismatch is logged. After nil, the caller reads the whole journal.
    func read(_ segments: ArraySlice<UInt64>, logger: Logger) -> Restored? {
        guard Directory.exists(path) else { return nil }
        switch restore(segments) {
        case .success(let restored): return restored
        case .failure(let misfit):
            logger.notice(
                "journal snapshot not used; reading the whole journal",
                metadata: ["reason": "\(misfit.reason)"])
            return nil
        }
    }

    /// Writes a snapshot to a temporary file, which is on disk when the function returns.
    func prepare(_ snapshot: JournalSnapshot) throws(SystemError) -> AtomicFile.Replacement {
        try AtomicFile.Replacement(of: path, with: snapshot.encoded())
    }

    /// Replaces the previous snapshot with a prepared one.
    func install(_ prepared: AtomicFile.Replacement) throws(SystemError) {
        try prepared.install()
        try Directory.synchronize(Directory.parent(of: path))
    }

    /// Returns the segments with the checksums of their last records; nil when one of them is unreadable.
    ///
    /// The oldest of them are left out when they were deleted meanwhile, like those that are deleted later.
    func segments(endingAt ends: [JournalSnapshot.End]) -> [JournalSnapshot.Segment]? {
        var segments: [JournalSnapshot.Segment] = []
        for end in ends {
            let path = SegmentName.path(end.first, in: journal)
            if segments.isEmpty, !Directory.exists(path) { continue }
            // Without the segment, no snapshot is made, and the next start reads more of the journal.
            guard let file = try? File(path, for: .reading),
                let tail = try? file.read(
                    at: max(0, end.bytes - JournalLine.checksumBytes - 2),
                    count: JournalLine.checksumBytes + 1),
                let checksum = JournalLine.checksum(of: tail[...])
            else { return nil }
            segments.append(
                JournalSnapshot.Segment(first: end.first, endBytes: end.bytes, checksum: checksum))
        }
        return segments
    }

    /// Removes the snapshot.
    func discard() {
        // An error is ignored: a snapshot that cannot be removed does not match the changed segments, so no
        // start uses it.
        try? Directory.remove(path)
        removeTemporary()
        try? Directory.synchronize(Directory.parent(of: path))
    }

    /// Removes prepared snapshots, also those of killed processes: they name customers who may be erased.
    func removeTemporary() {
        let folder = Directory.parent(of: path)
        // An error is ignored, because a temporary file is never read.
        for name in (try? Directory.names(in: folder)) ?? []
        where name.hasPrefix("snapshot.") && name.hasSuffix(".new") {
            try? Directory.remove(folder + "/" + name)
        }
    }

    /// The reason why a snapshot does not match the journal.
    struct Misfit: Error { let reason: String }

    /// Reads the snapshot if it matches these segments.
    func restore(_ segments: ArraySlice<UInt64>) -> Result<Restored, Misfit> {
        let bytes: [UInt8]
        // After a read error, the whole journal is read.
        do { bytes = try File(path, for: .reading).readAll() } catch {
            return .failure(Misfit(reason: "the file is unreadable: \(error)"))
        }
        let empty = RecoveredJournal(configuration).index
        guard let snapshot = try? JournalSnapshot(bytes, emptyIndex: empty) else {
            return .failure(
                Misfit(reason: "the file is damaged, of another version or made with other settings"))
        }
        guard let last = snapshot.segments.last else {
            return .failure(Misfit(reason: "the snapshot lists no segments"))
        }
        let covered = segments.prefix { $0 <= last.first }
        let kept = snapshot.segments.suffix(covered.count)
        // Since the snapshot was written, only the oldest of its segments may have been deleted.
        guard let first = covered.first, kept.map(\.first) == Array(covered) else {
            return .failure(Misfit(reason: "the file covers other segments"))
        }
        for segment in kept {
            guard isAsItWas(segment, isLast: segment == last) else {
                return .failure(Misfit(reason: "a segment has changed"))
            }
        }
        guard let lines = openLines(of: snapshot) else {
            return .failure(Misfit(reason: "the record of an unfinished message is at another place"))
        }
        return .success(
            Restored(
                state: RecoveredJournal(snapshot, first: first, lines: lines),
                lastRecord: snapshot.lastRecord, segments: Array(kept)))
    }

    private func isAsItWas(_ segment: JournalSnapshot.Segment, isLast: Bool) -> Bool {
        let path = SegmentName.path(segment.first, in: journal)
        // An unreadable segment does not match.
        guard let file = try? File(path, for: .reading), let sizeBytes = try? file.sizeBytes(),
            isLast ? sizeBytes >= segment.endBytes : sizeBytes == segment.endBytes,
            segment.endBytes > JournalLine.checksumBytes,
            let tail = try? file.read(
                at: segment.endBytes - JournalLine.checksumBytes - 2, count: JournalLine.checksumBytes + 2)
        else { return false }
        return tail.last == UInt8(ascii: "\n")
            && JournalLine.checksum(of: tail.dropLast()) == segment.checksum
    }

    private func openLines(of snapshot: JournalSnapshot) -> [LocatedRecord]? {
        let reader = SegmentReader(directory: journal)
        var records: [LocatedRecord] = []
        for line in snapshot.openLines {
            // A damaged line does not match.
            guard let bytes = try? reader.bytes(at: line.location),
                let header = JournalLine.header(of: bytes[...]), header.record == line.record,
                let record = JournalRecord(bytes[...], header)
            else { return nil }
            records.append(LocatedRecord(record: record, number: line.record, location: line.location))
        }
        return records
    }
}
