import BalloonPOSIX
import Logging

/// Reads the journal's segments back when the store opens.
struct JournalRecovery {
    private let directory: String
    private let logger: Logger
    private var abandoned = AbandonedRecords()
    private var state: RecoveredJournal

    private init(directory: String, state: RecoveredJournal, logger: Logger) {
        self.directory = directory
        self.state = state
        self.logger = logger
    }

    /// Reads every segment, cuts what a power cut left unfinished, and returns what the records add up to.
    ///
    /// Throws ``StoreError/damaged(file:line:)`` when a line that must be intact is not, and sets its file
    /// aside.
    static func run(
        directory: String, state: RecoveredJournal, logger: Logger
    ) throws(StoreError) -> RecoveredJournal {
        var recovery = JournalRecovery(directory: directory, state: state, logger: logger)
        let segments = try recovery.segments()
        for segment in segments { try recovery.readAbandoned(segment) }
        try recovery.readAll(segments)
        return recovery.state
    }

    private func path(_ segment: UInt64) -> String {
        directory + "/" + SegmentName.text(firstRecord: segment)
    }

    private func segments() throws(StoreError) -> [UInt64] {
        let names: [String]
        do throws(SystemError) { names = try Directory.names(in: directory) } catch {
            throw .unavailable(path: directory, error)
        }
        if let damaged = names.first(where: { $0.hasSuffix(SegmentName.damagedSuffix) }) {
            throw .quarantined(file: directory + "/" + damaged)
        }
        return names.compactMap(SegmentName.firstRecord).sorted()
    }

    /// A segment's second line may say which records before it were given up.
    private mutating func readAbandoned(_ segment: UInt64) throws(StoreError) {
        let start = try access(segment) { file throws(SystemError) in try file.read(at: 0, count: 4096) }
        abandoned.insert(fromStartOf: start)
    }

    private mutating func readAll(_ segments: [UInt64]) throws(StoreError) {
        let reading = SegmentReading(
            segments.prefix(try cutLast(segments[...])), in: directory, abandoned: abandoned)
        try reading.forEach { records throws(StoreError) in try apply(records) }
        // Numbers that were given up are not given out again.
        for range in abandoned.ranges { state.skip(to: range.upperBound + 1) }
    }

    private mutating func apply(_ records: SegmentRecords) throws(StoreError) {
        let segment = records.segment
        if state.nextRecord > 1, segment > state.nextRecord, !abandoned.contains(state.nextRecord) {
            logger.error(
                "journal records are missing between segments",
                metadata: ["from": "\(state.nextRecord)", "to": "\(segment - 1)"])
        }
        switch records.scan.verdict {
        case .sound: break
        case .powerCut(let line), .damaged(let line): throw try quarantine(segment, line: line)
        }
        if records.isForeign { throw .damaged(file: path(segment), line: 0) }
        for entry in records.entries { state.apply(entry.record, number: entry.number, at: entry.location) }
    }

    /// Makes sure that the last segment with records is on disk and ends with a whole line; returns how many
    /// segments count.
    private func cutLast(_ segments: ArraySlice<UInt64>) throws(StoreError) -> Int {
        var rest = segments
        while let segment = rest.popLast() {
            let scan = try access(segment) { file throws(SystemError) in
                // What a killed process left in the system's memory only, or a failed sync marked as written,
                // must not be taken for durable.
                try file.synchronizeData()
                file.dropCache()
                var lines = SegmentLines(file, firstRecord: segment, abandoned: abandoned)
                var last: RecordLocation?
                while let line = try lines.next() { last = lines.location(of: line, in: segment) }
                if lines.scan.verdict == .sound, let last { try cutPrepared(segment, behind: last) }
                return lines.scan
            }
            switch scan.verdict {
            case .sound where scan.lines > 0: return rest.count + 1
            case .sound: try remove(segment)
            case .powerCut where scan.lines > 0:
                try cut(segment, firstRecord: scan.firstRecord)
                return rest.count + 1
            // A first batch that is torn leaves one piece, or two; more is not one batch.
            case .powerCut where scan.brokenPieces <= 2: try setAside(segment, suffix: ".unreadable")
            case .powerCut(let line), .damaged(let line): throw try quarantine(segment, line: line)
            }
        }
        return 0
    }

    /// What was prepared for records that never came is not read again at every start.
    private func cutPrepared(_ segment: UInt64, behind last: RecordLocation) throws(SystemError) {
        let file = try File(path(segment), for: .overwriting)
        let endBytes = Int(last.offset) + Int(last.lengthBytes) + 1
        if endBytes < (try file.sizeBytes()) { try file.truncate(to: endBytes) }
    }

    /// Writes the intact lines to a new file that takes the segment's name.
    private func cut(_ segment: UInt64, firstRecord: UInt64?) throws(StoreError) {
        var kept: [UInt8] = []
        if firstRecord != segment {
            let header = JournalBody.segment(at: .now())
            JournalLine.write(body: header, record: segment, batch: segment, onto: &kept)
        }
        var cutBytes = 0
        do throws(SystemError) {
            let file = try File(path(segment), for: .reading)
            cutBytes = try file.sizeBytes()
            var lines = SegmentLines(file, firstRecord: segment, abandoned: abandoned)
            while let line = try lines.next() {
                kept.append(contentsOf: lines.buffer[line.range])
                kept.append(UInt8(ascii: "\n"))
            }
            try AtomicFile.write(kept, to: path(segment))
        } catch {
            throw .unavailable(path: path(segment), error)
        }
        logger.warning(
            "the journal's last batch was not complete and was cut",
            metadata: ["file": "\(path(segment))", "bytes": "\(cutBytes - kept.count)"])
    }

    private func remove(_ segment: UInt64) throws(StoreError) {
        do throws(SystemError) {
            try Directory.remove(path(segment))
            try Directory.synchronize(directory)
        } catch {
            throw .unavailable(path: path(segment), error)
        }
    }

    private func setAside(_ segment: UInt64, suffix: String) throws(StoreError) {
        do throws(SystemError) {
            try Directory.rename(path(segment), to: path(segment) + suffix)
            try Directory.synchronize(directory)
        } catch {
            throw .unavailable(path: path(segment), error)
        }
        logger.warning(
            "a journal file without any intact line was set aside",
            metadata: ["file": "\(path(segment))\(suffix)"])
    }

    /// Sets a damaged segment aside; until someone decides about it no store opens here.
    private func quarantine(_ segment: UInt64, line: Int) throws(StoreError) -> StoreError {
        logger.critical(
            "the journal is damaged", metadata: ["file": "\(path(segment))", "line": "\(line)"])
        do throws(SystemError) {
            try Directory.rename(path(segment), to: path(segment) + SegmentName.damagedSuffix)
            try Directory.synchronize(directory)
        } catch {
            throw .unavailable(path: path(segment), error)
        }
        return .damaged(file: path(segment) + SegmentName.damagedSuffix, line: line)
    }

    private func access<Result>(
        _ segment: UInt64, _ body: (File) throws(SystemError) -> Result
    ) throws(StoreError) -> Result {
        do throws(SystemError) { return try body(File(path(segment), for: .reading)) } catch {
            throw .unavailable(path: path(segment), error)
        }
    }
}
