import BalloonPOSIX
import BusinessMessages
import Synchronization

/// The store's events as they happen; for one reader.
///
/// ```
///   journal batch on disk ──┐
///                           ├──> EventFeed ──> EventFold ──> events with their places
///   line in its file ───────┘
/// ```
package struct EventSource: ~Copyable {
    private let store: Store
    private var fold: EventFold
    private let lines: EventLines
    private let journal: String

    /// The last record before those that the feed has; see ``EventRing``.
    package let begin: UInt64

    /// Begins with the changes after the beginning, and with earlier messages and replies without their lines.
    ///
    /// The events of one conversation have the order of its lines, also across the beginning: an event is from
    /// the past exactly when its line was written before the feed was active. A later line's event comes from
    /// the feed, even when its record is earlier.
    fileprivate init(_ store: Store, _ beginning: Store.EventBeginning) {
        self.store = store
        journal = DataDirectory(path: store.directory).journal
        lines = EventLines(directory: DataDirectory(path: store.directory).conversations)
        begin = beginning.record
        fold = store.makeFold(beginning, lines)
    }

    /// The last record that was read.
    package var last: UInt64 { fold.last }
    /// The records with events that wait for their lines.
    package var unsent: Set<UInt64> { fold.unsentRecords }
    /// The last record of which every event was read.
    package var through: UInt64 { mutating get { fold.through } }

    /// Returns the next events; nil when changes were lost, because they were not read in time.
    ///
    /// After nil, the caller must begin another source. May block to read files of conversations.
    package mutating func next() -> [PlacedEvent]? {
        guard let changes = store.feed.take() else { return nil }
        var events: [PlacedEvent] = []
        for change in changes {
            findSubject(of: change)
            for due in fold.apply(change) {
                let event =
                    due.needsLookup ? lookedUp(due.draft) : due.draft.completed(with: due.line)
                events.append(PlacedEvent(event: event, through: due.through))
            }
        }
        return events
    }

    /// Finds the conversation of a message that ended while the source began.
    private mutating func findSubject(of change: DurableChange) {
        guard case .record(_, let record?) = change, let subject = record.subject, subject <= begin,
            !fold.knows(subject),
            let conversation = EventRecord.conversation(beginningAt: subject, in: journal)
        else { return }
        fold.keep(subject, in: conversation)
    }

    private func lookedUp(_ draft: EventDraft) -> StoreEvent {
        guard let identity = draft.line else { return draft.completed(with: nil) }
        do {
            return draft.completed(in: try lines.find([identity], in: draft.conversation))
        } catch {
            // The file cannot be read, so the event is sent without the line and marked as truncated.
            return draft.completed(with: nil, isSearchComplete: false)
        }
    }
}

extension Store {
    /// The state of the store when its feed became active.
    struct EventBeginning: Sendable {
        /// The last record before those that the feed has.
        let record: UInt64
        /// The replies whose ends may be among the records before, and whose lines were not written.
        let replies: [UnwrittenLines.Reply]
    }

    /// Starts to queue changes, and returns the source of their events; only one source may exist at a time.
    package func followEvents() async -> EventSource { source(after: await beginEvents()) }

    /// Returns the source of the changes after the beginning.
    func source(after beginning: EventBeginning) -> EventSource { EventSource(self, beginning) }

    /// Starts to queue changes.
    func beginEvents() async -> EventBeginning {
        feed.setActive(true)
        unwrittenLines.watch()
        // A batch may be on its way to the disk whose changes are not kept: wait for it.
        await journal.flush()
        let last = journal.lastRecord
        // The changes of a batch are in the feed only after its records count as the last ones.
        await journal.flush()
        let record = feed.firstRecord.map { $0 - 1 } ?? last
        // The ends of these replies are in the journal soon, or their writes fail.
        var replies = unwrittenLines.watchedReplies
        while replies == nil, await pause(for: .milliseconds(10)) { replies = unwrittenLines.watchedReplies }
        return EventBeginning(
            record: record, replies: (replies ?? []).filter { $0.record ?? .max <= record })
    }

    /// Stops keeping changes.
    package func endEvents() { feed.setActive(false) }

    /// Yields a value in ``eventWakeups``.
    package func wakeEvents() { feed.wakeUp() }

    /// Yields when ``EventSource/next()`` may have events; for one consumer, ends when the store is closed.
    package var eventWakeups: AsyncStream<Void> { feed.wakeups }

    /// The first record that the journal still has.
    package var firstRecord: UInt64 { journalState.withLedger { $0.segments.first?.first ?? 1 } }

    /// Returns a reader of the wanted events of the records after `through` and up to `last`.
    ///
    /// Excluded events are omitted.
    package func pastEvents(
        after through: UInt64, through last: UInt64, excluding: EventExclusion,
        wanting isWanted: @escaping @Sendable (StoreEvent) -> Bool = { _ in true }
    ) throws -> EventCatchUp {
        try EventCatchUp(
            DataDirectory(path: directory), after: through, through: last, excluding: excluding,
            wanting: isWanted)
    }

    /// Returns the messages and replies that have not ended.
    fileprivate func unfinishedSubjects() -> EventSubjects {
        var subjects = EventSubjects()
        for lease in scheduler.all {
            subjects.keep(
                lease.pending.record, in: lease.conversation, kind: lease.pending.recording.kind)
        }
        for entry in outbox.all { subjects.keep(entry.id.record, in: entry.conversation) }
        return subjects
    }

    fileprivate func makeFold(_ beginning: EventBeginning, _ lines: EventLines) -> EventFold {
        let subjects = unfinishedSubjects()
        var drafts: [ConversationKey: [LineIdentity: [EventDraft]]] = [:]
        func add(_ record: EventRecord, _ number: UInt64, _ line: LineIdentity, in key: ConversationKey) {
            drafts[key, default: [:]][line] = EventDraft.events(
                of: record, number: number, in: key, kind: nil)
        }
        func addMessage(_ record: UInt64, in key: ConversationKey) {
            // The id and the time are placeholders: the line has the right ones and replaces them when it is
            // written.
            add(
                .message(
                    key, MessageID(""), outboundKind: nil, isReplay: false, at: Timestamp(milliseconds: 0)),
                record, LineIdentity(record: record, reply: nil), in: key)
        }
        for lease in scheduler.all
        where lease.pending.record <= beginning.record && !lease.pending.recording.isDone {
            addMessage(lease.pending.record, in: lease.conversation)
        }
        for reply in beginning.replies {
            if let record = reply.record { add(reply.end, record, reply.line, in: reply.conversation) }
        }
        // If a line was written before the feed was active, its event is in the past, and followers read it
        // from the journal. If the file cannot be read, the event waits until the line is written or fails to
        // be.
        let found = drafts.mapValues { Set($0.keys) }.map { key, wanted in
            (key, (try? lines.find(wanted, in: key))?.lines ?? [:])
        }
        let written = feed.writtenLines
        for (key, found) in found {
            for line in found.keys where !written.contains(line) { drafts[key]?[line] = nil }
        }
        // These messages were recorded between the beginning and now.
        let journal = DataDirectory(path: directory).journal
        for line in written where line.reply == nil && line.record <= beginning.record {
            let key =
                subjects.conversation(of: line.record)?.key
                ?? EventRecord.conversation(beginningAt: line.record, in: journal)
            if let key, drafts[key]?[line] == nil { addMessage(line.record, in: key) }
        }
        return EventFold(
            after: beginning.record, subjects: subjects,
            unwritten: drafts.values.flatMap { $0.values.flatMap(\.self) })
    }
}

extension EventRecord {
    /// Reads the journal for the conversation of the message or reply failure that begins with a record.
    ///
    /// Returns nil when the journal lacks the record or cannot be read.
    fileprivate static func conversation(beginningAt record: UInt64, in journal: String) -> ConversationKey? {
        // Without its conversation, only the events of this message are missing, as after a lost record.
        guard let reader = try? JournalReader(journal),
            let segment = reader.segments.last(where: { $0 <= record }),
            let file = try? File(reader.path(segment), for: .reading)
        else { return nil }
        var lines = SegmentLines(file, firstRecord: segment, abandoned: reader.abandoned)
        while let line = try? lines.next(), line.record <= record {
            if line.record == record {
                return EventRecord(lines.buffer[line.range], line.header)?.begins
            }
        }
        return nil
    }
}
