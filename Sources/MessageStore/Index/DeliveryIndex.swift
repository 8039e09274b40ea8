import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// The messages of the journal with the states of their deliveries, newest first.
///
/// With this cache, a list does not read the whole journal for each page. A segment is read once, and later
/// only the part that was appended since. The messages of the newest segments are cached. Of every segment
/// that was read, the records about messages of earlier segments also stay in memory, because they are few.
final class DeliveryIndex: Sendable {
    /// The segments that were read, by their first records.
    private let segments = Mutex<[UInt64: SegmentEvents]>([:])
    private let directory: String
    let reader: SegmentReader
    private let maximumEvents: Int
    private let queue = DispatchQueue(label: "balloon.deliveries")

    /// Caches about `maximumEvents` messages, each of about 500 bytes.
    init(directory: String, reader: SegmentReader, maximumEvents: Int = 65_536) {
        self.directory = directory
        self.reader = reader
        self.maximumEvents = maximumEvents
    }

    /// Drops everything that was read, because segments were rewritten.
    func forget() { segments.withLock { $0 = [:] } }

    /// Runs `body` on a dispatch queue, where it may block.
    ///
    /// All other functions block while they read the journal, so they must be called in such a `body`.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable (DeliveryIndex) throws(StoreError) -> Result
    ) async throws -> Result {
        try await queue.run { () throws(StoreError) in try body(self) }
    }

    /// Visits the messages before `record` down to `earliest`, newest first, until `visit` returns false.
    ///
    /// The walk also stops when the budget is used up, and before a segment whose latest message is older
    /// than `since`; it reads at least one segment. Without a budget it reads as many segments as necessary. `wanted` is sorted; with it,
    /// only these records are visited, and a segment without them that was read once is not read again.
    /// Returns the record before which a later walk continues; nil at the end.
    func walk(
        of wanted: [UInt64]? = nil, before record: UInt64 = .max, downTo earliest: UInt64 = 0,
        since: Timestamp? = nil,
        budget: ReadBudget? = nil, _ visit: (JournalState.Message) throws(StoreError) -> Bool
    ) throws(StoreError) -> UInt64? {
        let journal = try JournalReader(directory)
        return try segments.withLock { segments throws(StoreError) in
            let kept = Set(journal.segments)
            segments = segments.filter { kept.contains($0.key) }
            defer { Self.dropOldest(&segments, keeping: maximumEvents) }
            var budget = budget
            var later: [UInt64: [LocatedRecord]] = [:]
            var position = record
            // The records from this one on are in segments that the loop has visited.
            var end = UInt64.max
            for segment in journal.segments.reversed() {
                if let budget, budget.readBytes > 0, budget.isOver { return position }
                let isLast = segment == journal.segments.last
                var events =
                    segments.removeValue(forKey: segment)
                    ?? SegmentEvents(segment, abandoned: journal.abandoned)
                let isWanted =
                    segment < record && (wanted?.hasNumber(from: segment, through: end - 1) ?? true)
                end = segment
                if !events.isComplete || (isWanted && !events.isLoaded) {
                    do throws(SystemError) {
                        let bytes = try events.read(
                            journal.path(segment), abandoned: journal.abandoned, isLast: isLast)
                        budget?.readBytes += bytes
                    } catch {
                        // A running server has deleted the segment since the journal was listed.
                        if error.isMissing { continue }
                        throw .unavailable(path: journal.path(segment), error)
                    }
                }
                segments[segment] = events
                if segment < record {
                    if let since, let latest = events.latestAt, latest < since { return nil }
                    for message in events.messages.list.reversed() {
                        let number = message.state.record
                        if number >= record || !(wanted?.hasNumber(number) ?? true) { continue }
                        if number < earliest { break }
                        guard try visit(message.changed(by: later)) else { return number }
                    }
                    position = segment
                }
                if segment <= earliest { return nil }
                later.merge(events.messages.earlier) { newer, older in older + newer }
            }
            if let wanted { later = later.filter { wanted.hasNumber($0.key) } }
            return try visitCarried(later, before: min(record, journal.segments.first ?? 0), visit)
        }
    }

    /// Visits the dead letters whose own segment was deleted, which a later segment has a copy of.
    private func visitCarried(
        _ later: [UInt64: [LocatedRecord]], before record: UInt64,
        _ visit: (JournalState.Message) throws(StoreError) -> Bool
    ) throws(StoreError) -> UInt64? {
        for (subject, changes) in later.sorted(by: { $0.key > $1.key }) where subject < record {
            guard let message = JournalState.Message(ofCopied: changes) else { continue }
            guard try visit(message) else { return subject }
        }
        return nil
    }

    /// Drops the messages of the oldest segments; those of the newest segment always stay.
    private static func dropOldest(_ segments: inout [UInt64: SegmentEvents], keeping maximum: Int) {
        var count = segments.values.reduce(0) { $0 + $1.messages.list.count }
        for segment in segments.keys.sorted().dropLast() where count > maximum {
            count -= segments[segment]?.messages.list.count ?? 0
            segments[segment]?.drop()
        }
    }
}

/// Messages and replies by their names; blocks like a walk.
extension DeliveryIndex {
    /// Returns the messages of these records; a record that is not a message is omitted.
    func events(_ records: Set<UInt64>) throws(StoreError) -> [UInt64: JournalEvent] {
        guard let earliest = records.min() else { return [:] }
        var found: [UInt64: JournalEvent] = [:]
        _ = try walk(of: records.sorted(), downTo: earliest) { message throws(StoreError) in
            if message.state.isOfRepliesOnly { return true }
            found[message.state.record] = try readingKept { () throws(StoreError) in
                try JournalEvent(message.state, from: reader)
            }
            return found.count < records.count
        }
        return found
    }

    /// Returns the messages of these records, in order and without duplicates.
    ///
    /// Throws ``StoreError/unknownRecord(_:)`` for a record that is not a message.
    func events(inOrder records: [UInt64]) throws(StoreError) -> [JournalEvent] {
        let found = try events(Set(records))
        return try Self.inOrder(records, found) { .unknownRecord($0) }
    }

    /// Returns the replies with these identifiers, in order and without duplicates.
    ///
    /// Throws ``StoreError/unknownReply(record:index:)`` for an unknown identifier.
    func replies(_ names: [ReplyID]) throws(StoreError) -> [JournalReply] {
        let wanted = Set(names)
        let records = Set(names.map(\.record)).sorted()
        var found: [ReplyID: JournalReply] = [:]
        var visited = 0
        _ = try walk(of: records, downTo: records.first ?? .max) { message throws(StoreError) in
            for place in message.state.replies.indices {
                let id = ReplyID(record: message.state.record, index: place)
                if wanted.contains(id) {
                    found[id] = try JournalReply(message.state, index: place, from: reader)
                }
            }
            visited += 1
            return visited < records.count
        }
        return try Self.inOrder(names, found) { .unknownReply(record: $0.record, index: $0.index) }
    }

    private static func inOrder<Name: Hashable, Value>(
        _ names: [Name], _ found: [Name: Value], _ unknown: (Name) -> StoreError
    ) throws(StoreError) -> [Value] {
        var seen: Set<Name> = []
        var values: [Value] = []
        for name in names where seen.insert(name).inserted {
            guard let value = found[name] else { throw unknown(name) }
            values.append(value)
        }
        return values
    }
}

extension JournalState.Message {
    /// Returns the message after the records of later segments.
    fileprivate func changed(by later: [UInt64: [LocatedRecord]]) -> Self {
        guard !later.isEmpty, let changes = later[state.record] else { return self }
        var message = self
        for change in changes { message.state.apply(change) }
        return message
    }
}

extension [UInt64] {
    /// Returns whether one of the sorted numbers is in this range.
    fileprivate func hasNumber(from first: UInt64, through last: UInt64) -> Bool {
        let place = indices.partitioningIndex { self[$0] >= first }
        return place < count && self[place] <= last
    }

    fileprivate func hasNumber(_ number: UInt64) -> Bool { hasNumber(from: number, through: number) }
}
