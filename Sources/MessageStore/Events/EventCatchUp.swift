import BalloonPOSIX

/// Reads events of the past from the journal and the files of conversations, in parts.
///
/// For one follower at a time; its work blocks on the disk.
package struct EventCatchUp: Sendable {
    /// The journal no longer has the records, or lost them.
    package struct MissingRecords: Error {
        /// Creates the error.
        package init() {}
    }

    /// The number of events that are compared with later ones before they are sent: a line that is written so many events
    /// after its record is sent after its neighbors.
    private static let lookahead = 1024
    /// The number of events whose lines are read at once.
    private static let step = 256
    /// The bytes of the lines in the window at which no further ones are read.
    private static let maximumWindowBytes = 8 << 20

    private let first: UInt64
    private let last: UInt64
    private let exclusion: EventExclusion
    private let lines: EventLines
    private let directory: String
    private let abandoned: AbandonedRecords
    private var segments: ArraySlice<UInt64>
    private var reading: (segment: UInt64, lines: SegmentLines)?
    private var subjects = EventSubjects()
    /// The next events, in the order of their records.
    private var window: [StoreEvent] = []
    private var windowBytes = 0
    /// The last record that was read.
    private var read: UInt64

    /// Reads the events of the records behind `through`, up to `last`, but for the excluded ones.
    ///
    /// Throws ``MissingRecords`` when the journal has not all of them, and what reading throws.
    init(
        _ directory: DataDirectory, after through: UInt64, through last: UInt64, excluding: EventExclusion
    ) throws {
        let journal = try JournalReader(directory.journal)
        guard let start = journal.segments.lastIndex(where: { $0 <= through + 1 }) else {
            throw MissingRecords()
        }
        first = through + 1
        self.last = last
        exclusion = excluding
        lines = EventLines(directory: directory.conversations)
        self.directory = directory.journal
        abandoned = journal.abandoned
        segments = journal.segments[start...]
        read = through
        try findSubjects(journal.segments[...start])
    }

    /// The next events, in order and with their places; empty at the end.
    package mutating func next() throws -> [PlacedEvent] {
        while window.count < 2 * Self.lookahead, windowBytes < Self.maximumWindowBytes, try fill() {}
        guard !window.isEmpty else { return [] }
        let isLast = segments.isEmpty && reading == nil
        let sorted = EventOrder.sorted(window)
        let count = isLast ? sorted.count : max(1, sorted.count / 2)
        // Every event of a record before the smallest unsent one is sent.
        var smallest = min(isLast ? last + 1 : read + 1, exclusion.smallest ?? .max)
        var placed: [PlacedEvent] = []
        placed.reserveCapacity(count)
        for (index, event) in sorted.enumerated().reversed() {
            if index < count { placed.append(PlacedEvent(event: event, through: max(first, smallest) - 1)) }
            smallest = min(smallest, event.key.record)
        }
        let sent = Set(sorted[..<count].map(\.key))
        window.removeAll { sent.contains($0.key) }
        windowBytes = window.reduce(0) { $0 + ($1.line?.count ?? 0) }
        return placed.reversed()
    }

    /// Reads the next part of the journal; false at the end.
    private mutating func fill() throws -> Bool {
        var drafts: [EventDraft] = []
        while drafts.count < Self.step {
            guard let (number, record) = try nextRecord() else { break }
            let about = record.flatMap { subjects.apply($0, number: number) }
            guard number >= first, let record, let about else { continue }
            drafts += EventDraft.events(of: record, number: number, in: about.key, kind: about.kind)
                .filter { !exclusion.contains($0.event.key) }
        }
        if drafts.isEmpty { return reading != nil || !segments.isEmpty }
        var wanted: [ConversationKey: Set<LineIdentity>] = [:]
        for draft in drafts {
            if let line = draft.line ?? draft.kindLine {
                wanted[draft.conversation, default: []].insert(line)
            }
        }
        var found: [LineIdentity: FoundLine] = [:]
        for (conversation, identities) in wanted {
            found.merge(lines.find(identities, in: conversation)) { first, _ in first }
        }
        window += drafts.map { draft in
            if let line = draft.line { return draft.completed(with: found[line]) }
            var event = draft.event
            if let line = draft.kindLine { event.kind = found[line]?.kind }
            return event
        }
        windowBytes = window.reduce(0) { $0 + ($1.line?.count ?? 0) }
        return true
    }

    /// The next record up to the last one; nil at the end.
    private mutating func nextRecord() throws -> (UInt64, EventRecord?)? {
        while true {
            if reading == nil {
                guard let segment = segments.popFirst() else { return nil }
                reading = (segment, try open(segment))
            }
            guard let line = try reading?.lines.next() else {
                reading = nil
                continue
            }
            guard line.record <= last else {
                (reading, segments) = (nil, [])
                return nil
            }
            read = max(read, line.record)
            guard let buffer = reading?.lines.buffer else { return nil }
            return (line.record, EventRecord(buffer[line.range], line.header))
        }
    }

    private func open(_ segment: UInt64) throws -> SegmentLines {
        let path = directory + "/" + SegmentName.text(firstRecord: segment)
        do throws(SystemError) {
            return SegmentLines(try File(path, for: .reading), firstRecord: segment, abandoned: abandoned)
        } catch {
            // A running server deleted it meanwhile.
            if error.isMissing { throw MissingRecords() }
            throw StoreError.unavailable(path: path, error)
        }
    }

    /// Finds the conversations of messages in earlier segments, which the records of later ones are about.
    private mutating func findSubjects(_ earlier: ArraySlice<UInt64>) throws {
        guard let start = earlier.last else { return }
        var wanted: Set<UInt64> = []
        try forEachRecord(in: Array(segments)) { number, record in
            if number > last { return false }
            if let subject = record()?.subject, subject < start { wanted.insert(subject) }
            return true
        }
        for segment in earlier.dropLast().reversed() where !wanted.isEmpty {
            var found: [(UInt64, EventRecord)] = []
            try forEachRecord(in: [segment]) { number, record in
                if wanted.remove(number) != nil, let record = record() { found.append((number, record)) }
                return true
            }
            for (number, record) in found {
                guard let conversation = record.begins else { continue }
                // Kept until the end: its further records need not be counted.
                subjects.insert(number, in: conversation, replies: .max / 2)
            }
        }
    }

    private func forEachRecord(
        in segments: [UInt64], _ body: (UInt64, () -> EventRecord?) -> Bool
    ) throws {
        for segment in segments {
            var lines = try open(segment)
            while let line = try lines.next() {
                let buffer = lines.buffer
                if !body(line.record, { EventRecord(buffer[line.range], line.header) }) { return }
            }
        }
    }
}
