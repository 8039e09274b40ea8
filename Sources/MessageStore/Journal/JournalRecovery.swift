import BalloonPOSIX
import Logging

/// Recovers the state of the journal from its snapshot and its segments when the store opens.
struct JournalRecovery {
    private(set) var state: RecoveredJournal
    private(set) var damage = JournalDamage()
    /// The segments with records, each with the place where its records end.
    private(set) var segments: [JournalSnapshot.End] = []
    /// The last record that the used snapshot covers; 0 when every segment was read instead.
    private(set) var covered: UInt64 = 0
    /// The last record of the journal, from the segments or from the snapshot.
    private(set) var lastRecord: UInt64 = 0
    private let directory: String
    private let configuration: StoreConfiguration
    private let logger: Logger
    private var reader: JournalReader

    /// Recovers the journal.
    ///
    /// Reads the snapshot and the later segments, or every segment when no snapshot is usable. Removes
    /// records that a power failure left incomplete.
    init(_ configuration: StoreConfiguration, logger: Logger) throws(StoreError) {
        self.configuration = configuration
        self.logger = logger
        directory = DataDirectory(path: configuration.directory).journal
        state = RecoveredJournal(configuration)
        reader = try JournalReader(directory)
        if !reader.quarantined.isEmpty {
            try Self.restore(reader.quarantined, in: directory, logger)
            reader = try JournalReader(directory)
        }
        try readAll()
    }

    /// Restores the names of segments that earlier versions quarantined, because their intact records are
    /// valid.
    private static func restore(
        _ names: [String], in directory: String, _ logger: Logger
    ) throws(StoreError) {
        for name in names {
            let path = directory + "/" + name
            let original = String(path.dropLast(SegmentName.damagedSuffix.count))
            try StoreError.naming(path) { () throws(SystemError) in
                try Directory.rename(path, to: original)
                try Directory.synchronize(directory)
            }
            logger.warning(
                "quarantined journal file restored", metadata: ["file": "\(original)"])
        }
    }

    private func path(_ segment: UInt64) -> String { reader.path(segment) }

    private mutating func readAll() throws(StoreError) {
        var rest = reader.segments.prefix(try cutLast(reader.segments[...]))
        if let base = SnapshotFile(configuration).read(rest, logger: logger) {
            configuration.recoveryDidAdvance()
            state = base.state
            covered = base.lastRecord
            lastRecord = covered
            // The snapshot's last segment is read again, because it may contain later records.
            segments = base.segments.dropLast().map {
                JournalSnapshot.End(first: $0.first, bytes: $0.endBytes)
            }
            rest = rest.dropFirst(segments.count)
        }
        let reading = SegmentReading(rest, in: directory, abandoned: reader.abandoned)
        try reading.forEach { records throws(StoreError) in try apply(records) }
        reader.finish()
        // The numbers of abandoned or lost records are not used for new records.
        for range in reader.abandoned.ranges { state.state.skip(to: range.upperBound + 1) }
        for loss in reader.losses { state.state.skip(to: loss.records.upperBound + 1) }
        damage.judge(reader, openMessages: state.state.unended)
        for loss in damage.losses {
            logger.error(
                "the disk lost records of the journal; conversations that may be affected are held back, and /readyz names the records",
                metadata: [
                    "from": "\(loss.records.lowerBound)", "to": "\(loss.records.upperBound)",
                    "file": "\(path(loss.segment))", "line": "\(loss.line)",
                ])
        }
        if damage.isHarmful {
            logger.critical(
                "the journal is damaged: run balloon journal repair",
                metadata: ["held_conversations": "\(damage.held.count)"])
        }
    }

    private mutating func apply(_ records: SegmentRecords) throws(StoreError) {
        if records.isForeign { throw .damaged(file: path(records.scan.segment), line: 0) }
        reader.take(records.scan)
        if let last = records.entries.last {
            segments.append(JournalSnapshot.End(first: records.scan.segment, bytes: last.location.endBytes))
            lastRecord = max(lastRecord, last.number)
        }
        let isBehindLoss = !reader.losses.isEmpty || !records.scan.lossesInside.isEmpty
        for entry in records.entries where entry.number > covered {
            if isBehindLoss { damage.take(entry.record) }
            state.apply(entry)
        }
        configuration.recoveryDidAdvance()
    }

    /// Ensures that the last segment with records is on disk and ends with a complete line.
    ///
    /// Returns the number of segments up to and including that segment; 0 when no segment has records.
    private mutating func cutLast(_ segments: ArraySlice<UInt64>) throws(StoreError) -> Int {
        var rest = segments
        while let segment = rest.popLast() {
            let scan = try StoreError.naming(path(segment)) { () throws(SystemError) in
                let file = try File(path(segment), for: .reading)
                // The file is synced, and read from the disk instead of the page cache. Data that only the
                // cache has must not count as durable: a killed process left it there, or a failed sync
                // marked it as written.
                try file.synchronizeData()
                file.dropCache()
                var lines = SegmentLines(file, firstRecord: segment, abandoned: reader.abandoned)
                var last: RecordLocation?
                while let line = try lines.next() { last = lines.location(of: line) }
                if lines.scan.verdict == .sound, let last { try cutPrepared(segment, behind: last) }
                return lines.scan
            }
            switch scan.verdict {
            case .sound where scan.lines > 0: return rest.count + 1
            case .sound: try remove(segment)
            case .powerCut where scan.lines > 0:
                try cut(segment, firstRecord: scan.firstRecord)
                return rest.count + 1
            // An incomplete first batch leaves one or two broken pieces. More pieces come from more than one
            // batch, so they are damage.
            case .powerCut where scan.brokenPieces <= 2: try setAside(segment, suffix: ".unreadable")
            case .powerCut where scan.lines == 0:
                // Each broken piece may have been a record.
                let last = segment + UInt64(scan.brokenPieces) - 1
                damage.add(JournalReader.Loss(records: segment...last, segment: segment, line: 1))
                state.state.skip(to: last + 1)
            case .powerCut, .damaged: return rest.count + 1
            }
        }
        return 0
    }

    /// Removes the preallocated blank lines after the last record, so that later starts do not read them.
    private func cutPrepared(_ segment: UInt64, behind last: RecordLocation) throws(SystemError) {
        let file = try File(path(segment), for: .overwriting)
        if last.endBytes < (try file.sizeBytes()) { try file.truncate(to: last.endBytes) }
    }

    /// Writes the intact lines to a new file that replaces the segment.
    private func cut(_ segment: UInt64, firstRecord: UInt64?) throws(StoreError) {
        var kept: [UInt8] = []
        if firstRecord != segment {
            let header = JournalBody.segment(at: .now())
            JournalLine.write(body: header, record: segment, batch: segment, onto: &kept)
        }
        var cutBytes = 0
        try StoreError.naming(path(segment)) { () throws(SystemError) in
            let file = try File(path(segment), for: .reading)
            cutBytes = try file.sizeBytes()
            var lines = SegmentLines(file, firstRecord: segment, abandoned: reader.abandoned)
            while let line = try lines.next() {
                kept.append(contentsOf: lines.buffer[line.range])
                kept.append(UInt8(ascii: "\n"))
            }
            try AtomicFile.write(kept, to: path(segment))
        }
        logger.warning(
            "the journal's last batch was incomplete and was removed",
            metadata: ["file": "\(path(segment))", "bytes": "\(cutBytes - kept.count)"])
    }

    private func remove(_ segment: UInt64) throws(StoreError) {
        try StoreError.naming(path(segment)) { () throws(SystemError) in
            try Directory.remove(path(segment))
            try Directory.synchronize(directory)
        }
    }

    private func setAside(_ segment: UInt64, suffix: String) throws(StoreError) {
        try StoreError.naming(path(segment)) { () throws(SystemError) in
            try Directory.rename(path(segment), to: path(segment) + suffix)
            try Directory.synchronize(directory)
        }
        logger.warning(
            "a journal file without any intact line was quarantined",
            metadata: ["file": "\(path(segment))\(suffix)"])
    }
}
