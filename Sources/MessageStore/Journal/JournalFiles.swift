import BalloonPOSIX
import Dispatch

/// The journal of a data directory for who only reads it; takes no lock, and may run beside a server.
package struct JournalFiles: Sendable {
    private let directory: String

    /// Takes the path of the data directory.
    package init(dataDirectory: String) { directory = DataDirectory(path: dataDirectory).journal }

    /// Calls `body` with every message that is `wanted`, in the order of arrival.
    ///
    /// Reads the whole journal once and then each message on its own: no more than one text is in memory, and about a
    /// hundred bytes for each message. Leaves out what is being written. Throws ``StoreError/damaged(file:line:)`` when
    /// a line is not what was written, and ``StoreError/quarantined(file:)`` when a segment was set aside for that.
    /// Where a segment is cut off in front of others, or records between two are gone, it throws behind the last message.
    package func forEach(
        where wanted: (JournalEvent) -> Bool = { _ in true }, _ body: (JournalEvent) throws -> Void
    ) throws {
        try forEach(of: nil) { if wanted($0) { try body($0) } }
    }

    /// Every message that is `wanted`, in the order of arrival; reads the whole journal.
    package func events(where wanted: (JournalEvent) -> Bool) throws -> [JournalEvent] {
        var events: [JournalEvent] = []
        try forEach(where: wanted) { events.append($0) }
        return events
    }

    /// The messages of these records, in their order and each once.
    ///
    /// Throws ``StoreError/unknownRecord(_:)`` when one is no message's.
    package func events(_ records: [UInt64]) throws -> [JournalEvent] {
        var wanted = Set(records)
        var found: [UInt64: JournalEvent] = [:]
        try forEach(of: wanted) { found[$0.record] = $0 }
        return try records.filter { wanted.remove($0) != nil }.map { record in
            guard let event = found[record] else { throw StoreError.unknownRecord(record) }
            return event
        }
    }

    /// The same for who runs as a task: the whole journal is read on a queue, so that no other task waits for it.
    func eventsOnQueue(_ records: [UInt64]) async throws -> [JournalEvent] {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "balloon.events").async {
                continuation.resume(with: Result { try events(records) })
            }
        }
    }

    /// Reads every segment, in order; nothing when there is no journal.
    ///
    /// Returns what is damaged: that records are gone, or where lines are broken.
    @discardableResult
    func forEachRecord(
        _ body: (JournalRecord, UInt64, RecordLocation) throws(StoreError) -> Void
    ) throws(StoreError) -> StoreError? {
        var reader = try JournalReader(directory)
        // What it had is not "nothing".
        if let damaged = reader.quarantined.first { throw .quarantined(file: directory + "/" + damaged) }
        try reader.forEachRecord(body)
        return reader.damage
    }

    private func forEach(of wanted: Set<UInt64>?, _ body: (JournalEvent) throws -> Void) throws {
        var traces: [UInt64: EventTrace] = [:]
        let missing = try forEachRecord { record, number, location throws(StoreError) in
            if let subject = record.subject {
                if case .carried = record, traces[subject] == nil, wanted?.contains(subject) ?? true {
                    traces[subject] = EventTrace(location, isCarried: true)
                } else {
                    traces[subject]?.apply(record, at: location)
                }
            } else if case .message(let message) = record {
                if let original = message.replayOf { traces[original]?.applyReplay(as: number) }
                if wanted?.contains(number) ?? true {
                    traces[number] = EventTrace(location, isCarried: false)
                }
            }
        }
        let reader = SegmentReader(directory: directory)
        for record in traces.keys.sorted() {
            guard let trace = traces[record] else { continue }
            let event: JournalEvent
            do throws(StoreError) {
                event = try JournalEvent(trace, record: record, from: reader)
            } catch {
                // Its segment has gone meanwhile.
                if case .unavailable(_, let reason) = error, reason.isMissing { continue }
                throw error
            }
            try body(event)
        }
        // Who named records has them all.
        if wanted == nil, let missing { throw missing }
    }
}
