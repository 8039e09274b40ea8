import BalloonPOSIX

/// Read-only access to the journal of a data directory; needs no lock, and works while a server runs.
package struct JournalFiles: Sendable {
    private let directory: String
    private let dataDirectory: String

    /// Creates access to the journal of the data directory at this path.
    package init(dataDirectory: String) {
        self.dataDirectory = dataDirectory
        directory = DataDirectory(path: dataDirectory).journal
    }

    /// Returns the time of the last write to a segment, in seconds since 1970; 0 without a journal.
    ///
    /// The sizes of segments do not show writes, because segments are preallocated.
    package func lastWriteSecondsSince1970() throws -> Int {
        guard Directory.exists(directory) else { return 0 }
        return try Directory.names(in: directory).reduce(0) { last, name in
            // A segment may be deleted meanwhile, and then has no time.
            max(last, (try? FileStatus.modifiedSecondsSince1970(directory + "/" + name)) ?? 0)
        }
    }

    /// Calls `body` with every `wanted` message, in the order of arrival.
    ///
    /// Reads the whole journal once, and then each message separately. Only one text is in memory at a time,
    /// and about a hundred bytes for each message. Omits records that are being written. Throws
    /// ``StoreError/quarantined(file:)`` at once for a quarantined segment. For damaged lines and missing
    /// records it throws ``StoreError/damaged(file:line:)`` after the last message.
    package func forEach(
        where wanted: (JournalEvent) -> Bool = { _ in true }, _ body: (JournalEvent) throws -> Void
    ) throws {
        let reader = SegmentReader(directory: directory)
        try forEachState { state in
            // If only a reply was copied, the event cannot be read: its segment was deleted.
            if state.isOfRepliesOnly { return }
            let event = try readingKept { () throws(StoreError) in try JournalEvent(state, from: reader) }
            if let event, wanted(event) { try body(event) }
        }
    }

    /// Returns every `wanted` message, in the order of arrival; reads the whole journal.
    package func events(where wanted: (JournalEvent) -> Bool) throws -> [JournalEvent] {
        var events: [JournalEvent] = []
        try forEach(where: wanted) { events.append($0) }
        return events
    }

    /// Returns the messages of these records, in order and without duplicates.
    ///
    /// Throws ``StoreError/unknownRecord(_:)`` for a record that is not a message.
    package func events(_ records: [UInt64]) throws -> [JournalEvent] {
        try index().events(inOrder: records)
    }

    /// An index of the journal, without its cache; throws ``StoreError/quarantined(file:)``.
    private func index() throws(StoreError) -> DeliveryIndex {
        try checkQuarantine(JournalReader(directory))
        return DeliveryIndex(
            directory: directory, reader: SegmentReader(directory: directory), maximumEvents: 0)
    }

    /// The journal lacks the records of a quarantined segment, so reading the other segments must not succeed.
    private func checkQuarantine(_ reader: JournalReader) throws(StoreError) {
        if let damaged = reader.quarantined.first { throw .quarantined(file: directory + "/" + damaged) }
    }

    /// Returns the conversations that are not simply with their handler, the one with the oldest change first.
    ///
    /// Reads the snapshot and the later records; the whole journal when the snapshot is missing, or was made with other
    /// limits of the deduplication. `damage` is the first damage of what it read, ``StoreError/quarantined(file:)`` or
    /// ``StoreError/damaged(file:line:)``; the conversations may then lack some, or have an older state.
    package func assignedConversations() throws -> (
        conversations: [Store.AssignedConversation], damage: StoreError?
    ) {
        let configuration = StoreConfiguration(directory: dataDirectory)
        var reader = try JournalReader(directory)
        let base = try? SnapshotFile(configuration).restore(reader.segments[...]).get()
        var state = base?.state ?? RecoveredJournal(configuration)
        let covered = base?.lastRecord ?? 0
        try reader.forEachRecord(from: base?.segments.last?.first ?? 0) { record throws(StoreError) in
            if record.number > covered { state.apply(record) }
        }
        let quarantined = reader.quarantined.first.map { StoreError.quarantined(file: directory + "/" + $0) }
        let conversations = state.state.assignments.shown.map { key, entry in
            Store.AssignedConversation(key, entry.assignment)
        }.sorted {
            // Two assignments of the same millisecond have the order of their records.
            ($0.assignment.since?.milliseconds ?? 0, $0.assignment.record)
                < ($1.assignment.since?.milliseconds ?? 0, $1.assignment.record)
        }
        return (conversations, quarantined ?? reader.damage)
    }

    /// Calls `body` with each record of the journal, in order; does nothing when there is no journal.
    ///
    /// Returns the first damage that was found, missing records or invalid lines; nil for an intact journal.
    @discardableResult
    func forEachRecord(_ body: (LocatedRecord) throws(StoreError) -> Void) throws(StoreError) -> StoreError? {
        var reader = try JournalReader(directory)
        try checkQuarantine(reader)
        try reader.forEachRecord(body)
        return reader.damage
    }

    /// Calls `body` with every `wanted` reply, in the order of the events that were answered.
    ///
    /// Reads and throws like ``forEach(where:_:)``.
    package func forEachReply(
        where wanted: (JournalReply) -> Bool = { _ in true }, _ body: (JournalReply) throws -> Void
    ) throws {
        let reader = SegmentReader(directory: directory)
        try forEachState { state in
            for index in state.replies.indices where !state.isPlaceholder(index) {
                let reply = try readingKept { () throws(StoreError) in
                    try JournalReply(state, index: index, from: reader)
                }
                if let reply, wanted(reply) { try body(reply) }
            }
        }
    }

    /// Returns the replies with these names, in order and without duplicates.
    ///
    /// Throws ``StoreError/unknownReply(record:index:)`` for an unknown name.
    package func replies(_ names: [ReplyID]) throws -> [JournalReply] {
        try index().replies(names)
    }

    /// Computes the states of all messages from the whole journal, then calls `body` with each state in order.
    private func forEachState(_ body: (MessageState) throws -> Void) throws {
        var messages = JournalMessages()
        let damage = try forEachRecord { record throws(StoreError) in messages.apply(record) }
        var copied = messages.copied[...]
        for message in messages.list {
            while let copy = copied.first, copy.state.record < message.state.record {
                try body(copy.state)
                copied.removeFirst()
            }
            try body(message.state)
        }
        for copy in copied { try body(copy.state) }
        if let damage { throw damage }
    }
}
