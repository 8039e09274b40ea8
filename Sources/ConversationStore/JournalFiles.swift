import BalloonJSON
import BalloonPOSIX

/// The journal of a data directory for who only reads it; takes no lock, and may run beside a server.
package struct JournalFiles: Sendable {
    private let directory: String

    /// Takes the path of the data directory.
    package init(dataDirectory: String) { directory = DataDirectory(path: dataDirectory).journal }

    /// Every message that is `wanted`, in the order of arrival; reads the whole journal.
    ///
    /// Leaves out what is being written. Throws ``StoreError/damaged(file:line:)`` when a line is not what was written.
    package func events(where wanted: (JournalEvent) -> Bool) throws -> [JournalEvent] {
        var events: [UInt64: JournalEvent] = [:]
        try forEachRecord { record, root in
            if let event = JournalEvent(root, record: record) {
                events[record] = event
                if let original = event.replayOf { events[original]?.noteReplay() }
            } else if let of = root["of"]?.int, of > 0 {
                events[UInt64(of)]?.apply(root)
            }
        }
        return events.values.filter(wanted).sorted { $0.record < $1.record }
    }

    /// The messages of these records, in their order.
    ///
    /// Throws ``StoreError/unknownRecord(_:)`` when one is no message's.
    package func events(_ records: [UInt64]) throws -> [JournalEvent] {
        let wanted = Set(records)
        let found = try events { wanted.contains($0.record) }
        return try records.map { record in
            guard let event = found.first(where: { $0.record == record }) else {
                throw StoreError.unknownRecord(record)
            }
            return event
        }
    }

    private func forEachRecord(_ body: (UInt64, JSONValue) throws -> Void) throws {
        let segments = try segments()
        var abandoned = AbandonedRecords()
        for segment in segments {
            abandoned.insert(
                fromStartOf: try read(segment) { file throws(SystemError) in
                    try file.read(at: 0, count: 4096)
                })
        }
        for segment in segments {
            let bytes = try read(segment) { file throws(SystemError) in try file.readAll() }
            let scan = SegmentScan(bytes, firstRecord: segment, abandoned: abandoned)
            if case .damaged(let line) = scan.verdict {
                throw StoreError.damaged(file: path(segment), line: line)
            }
            for line in scan.lines {
                // The checksum held, so this is what was written.
                guard let document = try? JSONDocument(Array(bytes[line.range]), limits: .journal) else {
                    continue
                }
                try body(line.record, document.root)
            }
        }
    }

    private func segments() throws(StoreError) -> [UInt64] {
        guard Directory.exists(directory) else { return [] }
        do throws(SystemError) {
            return try Directory.names(in: directory).compactMap(SegmentName.firstRecord).sorted()
        } catch {
            throw .unavailable(path: directory, error)
        }
    }

    private func path(_ segment: UInt64) -> String {
        directory + "/" + SegmentName.text(firstRecord: segment)
    }

    private func read<Result>(
        _ segment: UInt64, _ body: (File) throws(SystemError) -> Result
    ) throws(StoreError) -> Result {
        do throws(SystemError) { return try body(File(path(segment), for: .reading)) } catch {
            throw .unavailable(path: path(segment), error)
        }
    }
}
