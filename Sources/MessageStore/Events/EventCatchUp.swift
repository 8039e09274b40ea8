import BalloonPOSIX

/// Reads past events from the journal and the files of conversations, in parts.
///
/// It serves one follower; its functions block while they read. Between parts it keeps its place and the
/// conversations of unfinished messages, so each record is read once.
package struct EventCatchUp: Sendable {
    /// The journal lacks the records, because they were deleted or lost.
    package struct MissingRecords: Error {
        /// Creates the error.
        package init() {}
    }

    /// The next events; there may be none.
    package struct Part: Sendable {
        /// The events, in order and with their places.
        package let events: [PlacedEvent]
        /// The last record of which this part and the earlier ones have every wanted event.
        ///
        /// The same is true of all records before it.
        package let through: UInt64
        /// Whether no further part follows.
        package let isLast: Bool
    }

    /// How many later records are read before an event is sent: one of them may have an earlier line.
    private static let lookaheadRecords: UInt64 = 2048
    /// The maximum number of events that wait because a later record may have an event with an earlier line.
    private static let maximumWindow = 2048
    /// The maximum bytes of the lines of waiting events; no further record is read above it.
    private static let maximumWindowBytes = 4 << 20
    /// The number of events whose lines are looked up together.
    private static let step = 256
    /// The bytes of the journal and of conversations that are read for a part, which one step may exceed.
    var maximumReadBytes = 8 << 20
    /// The bytes at which a part ends; a part has at least one event if there is any.
    private static let partBytes = 64 << 10
    /// The maximum number of elements in `places`.
    private static let maximumPlaces = 4096

    private let first: UInt64
    private let last: UInt64
    private let exclusion: EventExclusion
    private let isWanted: @Sendable (StoreEvent) -> Bool
    private let directory: DataDirectory
    private let journal: JournalReader
    private var segments: ArraySlice<UInt64>
    /// The first segment that is read; records that are read may refer to messages in the segments before it.
    private let firstSegment: UInt64
    private var searched: Set<UInt64> = []
    /// A search for the conversations of an earlier segment's messages, one of which a record refers to.
    private var conversationSearch: (lines: SegmentLines, found: LineFold)?
    private var held: (record: LocatedRecord, text: [UInt8])?
    /// The events whose lines are being read.
    private var lookup: Lookup?
    private var reading: SegmentLines?
    private var fold = LineFold()
    /// The conversations of the messages that had not ended in earlier segments.
    ///
    /// None is removed, because not all later records of these messages are read.
    private var earlierConversations: [UInt64: ConversationKey] = [:]
    /// The events that are read and not sent yet, in the order of their records.
    private var window: [StoreEvent] = []
    /// The sorted events of the next parts, with their places; `through` is the place after them.
    private var ready: ArraySlice<PlacedEvent> = []
    private var through: UInt64
    /// The offset in each conversation's file at which the search for its next lines begins.
    private var places: [ConversationKey: Int] = [:]
    /// The last record that was read.
    ///
    /// `read` is the last record whose events are all in the window.
    private var reached: UInt64
    private var read: UInt64
    /// The number of bytes that were read for all parts so far.
    private(set) var readBytes = 0

    /// Prepares to read the wanted events of the records after `through` and up to `last`.
    ///
    /// Excluded events are omitted. Throws ``MissingRecords`` when the journal lacks one of these records,
    /// and the errors of reading the journal.
    init(
        _ directory: DataDirectory, after through: UInt64, through last: UInt64, excluding: EventExclusion,
        wanting isWanted: @escaping @Sendable (StoreEvent) -> Bool
    ) throws {
        journal = try JournalReader(directory.journal)
        guard let start = journal.segments.lastIndex(where: { $0 <= through + 1 }) else {
            throw MissingRecords()
        }
        first = through + 1
        self.last = last
        self.through = through
        self.isWanted = isWanted
        exclusion = excluding
        self.directory = directory
        segments = journal.segments[start...]
        firstSegment = journal.segments[start]
        reached = through
        read = through
    }

    private var isAtEnd: Bool { segments.isEmpty && reading == nil && held == nil && lookup == nil }

    /// Returns the next part; it has no events when the limit of bytes to read is reached before one is due.
    ///
    /// Throws `CancellationError` in a cancelled task.
    package mutating func next() throws -> Part {
        if ready.isEmpty { try prepare() }
        var (count, bytes) = (0, 0)
        for placed in ready {
            if bytes >= Self.partBytes { break }
            bytes += placed.sizeBytes
            count += 1
        }
        let events = Array(ready.prefix(count))
        ready = ready.dropFirst(count)
        guard ready.isEmpty else {
            return Part(events: events, through: events.last?.through ?? through, isLast: false)
        }
        return Part(events: events, through: through, isLast: isAtEnd && window.isEmpty)
    }

    /// Reads further records, and moves the due events from the window to `ready`, sorted.
    private mutating func prepare() throws {
        var budget = maximumReadBytes
        while budget > 0, !isWindowFull, !isAtEnd { try fill(&budget) }
        readBytes += maximumReadBytes - budget
        let sorted = EventOrder.sorted(window)
        let count = isAtEnd ? sorted.count : dueCount(sorted)
        // The place of an event is the number before the smallest record with an event that is sent after
        // this one.
        var smallest = min(isAtEnd ? last + 1 : read + 1, exclusion.smallest ?? .max)
        for event in sorted[count...] { smallest = min(smallest, event.key.record) }
        through = max(first, smallest) - 1
        var placed: [PlacedEvent] = []
        placed.reserveCapacity(count)
        for event in sorted[..<count].reversed() {
            placed.append(PlacedEvent(event: event, through: max(first, smallest) - 1))
            smallest = min(smallest, event.key.record)
        }
        ready = placed.reversed()[...]
        let sent = Set(sorted[..<count].map(\.key))
        window.removeAll { sent.contains($0.key) }
    }

    private var isWindowFull: Bool {
        window.count >= Self.maximumWindow
            || window.reduce(0) { $0 + ($1.line?.count ?? 0) } >= Self.maximumWindowBytes
    }

    /// Returns the number of sorted events that are due.
    ///
    /// An event is due when enough later records are read that none has an earlier line, or when the window
    /// is full.
    private func dueCount(_ sorted: [StoreEvent]) -> Int {
        let limit = read - min(read, Self.lookaheadRecords)
        let count = sorted.prefix { $0.key.record <= limit }.count
        return isWindowFull ? max(1, count, sorted.count / 2) : count
    }

    /// Some events without their lines, and the state of the search for these lines.
    private struct Lookup: Sendable {
        var events: [StoreEvent] = []
        /// The last record of which `events`, or the events before them, have every event.
        var through: UInt64 = 0
        var wanted: [(conversation: ConversationKey, lines: Set<LineIdentity>)] = []
        var current: (conversation: ConversationKey, search: LineSearch)?
        var found: [ConversationKey: FoundLines] = [:]
    }

    /// Reads the next records and looks up the lines of their events, until the budget is used up.
    private mutating func fill(_ budget: inout Int) throws {
        try Task.checkCancellation()
        var next = try lookup ?? readEvents(&budget)
        lookup = nil
        while next.current != nil || !next.wanted.isEmpty {
            if next.current == nil, let (conversation, identities) = next.wanted.popLast() {
                let place = places[conversation]
                next.current = (
                    conversation,
                    try LineSearch(for: identities, in: conversation, of: directory, from: place)
                )
            }
            try Task.checkCancellation()
            guard budget > 0, try next.current?.search.advance(&budget) ?? true else {
                lookup = next
                return
            }
            if let (conversation, search) = next.current {
                if places.count >= Self.maximumPlaces { places = [:] }
                places[conversation] = search.result.place
                next.found[conversation] = search.result
            }
            next.current = nil
        }
        window += next.events.map { $0.completed(in: next.found[$0.conversationKey]) }
        read = max(read, next.through)
    }

    /// Reads the next records and makes their events, without lines.
    private mutating func readEvents(_ budget: inout Int) throws -> Lookup {
        var next = Lookup()
        while next.events.count < Self.step, budget > 0 {
            let waiting = held
            held = nil
            guard let (located, text) = try waiting ?? nextRecord(&budget) else { break }
            let (record, number) = (located.record, located.number)
            if number >= first, let subject = record.subject, try !findConversation(subject, &budget) {
                held = (located, text)
                break
            }
            let conversation =
                record.conversation
                ?? record.subject.flatMap { fold[$0]?.conversation ?? earlierConversations[$0] }
            _ = fold.apply(located)
            guard let conversation, number >= first else { continue }
            let appended = AppendedRecord(meaning: record, body: text)
            next.events += StoreEvent.events(of: appended, number: number, in: conversation)
                .filter { !exclusion.contains($0.key) && isWanted($0) }
        }
        next.through = held.map { $0.record.number - 1 } ?? reached
        var wanted: [ConversationKey: Set<LineIdentity>] = [:]
        for event in next.events {
            if let line = event.neededLine { wanted[event.conversationKey, default: []].insert(line) }
        }
        next.wanted = wanted.map { ($0.key, $0.value) }
        return next
    }

    /// Reads the next record; nil after the record `last` and at the end of the journal.
    ///
    /// The text is that of the record's line; it is empty before the first record with wanted events.
    private mutating func nextRecord(_ budget: inout Int) throws -> (record: LocatedRecord, text: [UInt8])? {
        while true {
            if reading == nil {
                guard let segment = segments.popFirst() else { return nil }
                reading = try journal.open(segment)
                if reading == nil { throw MissingRecords() }
            }
            guard let line = try reading?.next() else {
                reading = nil
                continue
            }
            guard line.record <= last else {
                (reading, segments) = (nil, [])
                return nil
            }
            budget -= line.range.count
            reached = max(reached, line.record)
            // Another program wrote a line that is not JSON.
            guard let lines = reading, let record = lines.record(of: line) else { continue }
            return (record, line.record < first ? [] : Array(lines.buffer[line.range]))
        }
    }

    /// Finds the conversation of a message in an earlier segment; reads each segment at most once.
    ///
    /// Returns false when the budget is used up: the next call continues.
    private mutating func findConversation(_ record: UInt64, _ budget: inout Int) throws -> Bool {
        if conversationSearch == nil {
            guard record < firstSegment, earlierConversations[record] == nil,
                let segment = journal.segments.last(where: { $0 <= record }),
                searched.insert(segment).inserted
            else { return true }
            // If the segment was deleted, all of its messages have ended: there is nothing to find.
            guard let lines = try journal.open(segment) else { return true }
            conversationSearch = (lines, LineFold())
        }
        guard var search = conversationSearch else { return true }
        conversationSearch = nil
        while let line = try search.lines.next() {
            budget -= line.range.count
            if let record = search.lines.record(of: line) { _ = search.found.apply(record) }
            if budget <= 0 {
                conversationSearch = search
                return false
            }
        }
        earlierConversations.merge(search.found.conversations) { first, _ in first }
        return true
    }
}
