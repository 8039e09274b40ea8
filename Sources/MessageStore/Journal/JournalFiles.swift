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
        let reader = SegmentReader(directory: directory)
        try forEachState(of: wanted) { state in
            // Where only a reply was carried, the event's own text is gone.
            if state.isCarried, state.status == .handled { return }
            guard
                let event = try readingKept({ () throws(StoreError) in try JournalEvent(state, from: reader) }
                )
            else { return }
            try body(event)
        }
    }

    /// Calls `body` with every reply that is `wanted`, in the order of their events.
    ///
    /// Reads and throws as ``forEach(where:_:)`` does.
    package func forEachReply(
        where wanted: (JournalReply) -> Bool = { _ in true }, _ body: (JournalReply) throws -> Void
    ) throws {
        let reader = SegmentReader(directory: directory)
        try forEachState(of: nil) { state in
            for index in state.replies.indices where !state.isPlaceholder(index) {
                let reply = try readingKept { () throws(StoreError) in
                    try JournalReply(state, index: index, from: reader)
                }
                if let reply, wanted(reply) { try body(reply) }
            }
        }
    }

    /// The replies with these names, in their order and each once.
    ///
    /// Throws ``StoreError/unknownReply(record:index:)`` when one is none.
    package func replies(_ names: [ReplyID]) throws -> [JournalReply] {
        let reader = SegmentReader(directory: directory)
        var wanted = Set(names)
        var found: [ReplyID: JournalReply] = [:]
        try forEachState(of: Set(names.map(\.record))) { state in
            for index in state.replies.indices
            where wanted.contains(ReplyID(record: state.record, index: index)) {
                let reply = try JournalReply(state, index: index, from: reader)
                found[reply.id] = reply
            }
        }
        return try names.filter { wanted.remove($0) != nil }.map { name in
            guard let reply = found[name] else {
                throw StoreError.unknownReply(record: name.record, index: name.index)
            }
            return reply
        }
    }

    /// The same for a task: the whole journal is read on a queue, so that no other task waits for it.
    func repliesOnQueue(_ names: [ReplyID]) async throws -> [JournalReply] {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "balloon.replies").async {
                continuation.resume(with: Result { try replies(names) })
            }
        }
    }

    /// Folds the whole journal, then calls `body` with the state of every message, or of those that are wanted.
    private func forEachState(of wanted: Set<UInt64>?, _ body: (MessageState) throws -> Void) throws {
        var states: [UInt64: MessageState] = [:]
        var reported: Set<ReplyID> = []
        let missing = try forEachRecord { record, number, location throws(StoreError) in
            if case .reply(let reply) = record, reply.reportedIn != nil, wanted?.contains(number) ?? true,
                reported.insert(ReplyID(record: reply.of, index: reply.index)).inserted
            {
                states[number] = MessageState(failureIn: number, at: location)
            }
            if let subject = record.subject {
                if case .carried(_, let reply) = record, states[subject] == nil,
                    wanted?.contains(subject) ?? true
                {
                    states[subject] = MessageState(carried: subject, reply: reply, at: location)
                } else if let index = states.index(forKey: subject) {
                    states.values[index].apply(record, number: number, at: location)
                }
            } else if case .message(let message) = record {
                if let original = message.replayOf, let index = states.index(forKey: original) {
                    states.values[index].applyRetry(of: message.retriedReply, as: number)
                }
                if wanted?.contains(number) ?? true {
                    states[number] = MessageState(message, record: number, at: location)
                }
            }
        }
        for record in states.keys.sorted() { if let state = states[record] { try body(state) } }
        // Who named records has them all.
        if wanted == nil, let missing { throw missing }
    }

    /// Nil when the segment has gone meanwhile.
    private func readingKept<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result? {
        do throws(StoreError) { return try body() } catch {
            if case .unavailable(_, let reason) = error, reason.isMissing { return nil }
            throw error
        }
    }
}
