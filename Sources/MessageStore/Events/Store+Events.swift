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

    /// The last record that was on disk when the source began; see ``EventRing``.
    package let begin: UInt64

    /// Begins with the changes after this call, and with earlier messages and replies without their lines.
    fileprivate init(_ store: Store) async {
        self.store = store
        lines = EventLines(directory: DataDirectory(path: store.directory).conversations)
        store.feed.setActive(true)
        // A batch may be on disk whose messages are not in the queues yet and whose changes were not kept:
        // wait for it.
        await store.journal.flush()
        // Must precede the read of `begin`: a message may end between the two, with an event in a later
        // record.
        let subjects = store.unfinishedSubjects()
        begin = store.journal.lastRecord
        await store.journal.flush()
        // Wait up to 5 s for the lines of replies that ended before; only lines that cannot be written are
        // missing then.
        for _ in 0..<500 where store.unwrittenLines.checkpoint(through: begin) < begin {
            guard await store.pause(for: .milliseconds(10)) else { break }
        }
        fold = store.makeFold(after: begin, subjects, lines)
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
            for due in fold.apply(change) {
                let event =
                    due.needsLookup ? lookedUp(due.draft) : due.draft.completed(with: due.line)
                events.append(PlacedEvent(event: event, through: due.through))
            }
        }
        return events
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
    /// Starts to queue changes, and returns the source of their events; only one source may exist at a time.
    package func followEvents() async -> EventSource { await EventSource(self) }

    /// Stops keeping changes.
    package func endEvents() { feed.setActive(false) }

    /// Yields a value in ``eventWakeups``.
    package func wakeEvents() { feed.wakeUp() }

    /// Yields when ``EventSource/next()`` may have events; for one consumer, ends when the store is closed.
    package var eventWakeups: AsyncStream<Void> { feed.wakeups }

    /// The first record that the journal still has.
    package var firstRecord: UInt64 { accounts.withLedger { $0.segments.first?.first ?? 1 } }

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

    fileprivate func makeFold(
        after record: UInt64, _ subjects: EventSubjects, _ lines: EventLines
    ) -> EventFold {
        var unrecorded: [ConversationKey: Set<LineIdentity>] = [:]
        for lease in scheduler.all
        where lease.pending.record <= record && !lease.pending.recording.isDone {
            let identity = LineIdentity(record: lease.pending.record, reply: nil)
            unrecorded[lease.conversation, default: []].insert(identity)
        }
        var unwritten: [EventDraft] = []
        for (key, identities) in unrecorded {
            // If an earlier process wrote the line, the event is in the past, and followers read it from the
            // journal. If the file cannot be read, the event waits until the line is written or fails to be.
            let found = (try? lines.find(identities, in: key))?.lines ?? [:]
            for identity in identities where found[identity] == nil {
                // The id and the time are placeholders: the line has the right ones and replaces them when it
                // is written.
                let message = EventRecord.message(
                    key, MessageID(""), outboundKind: nil, isReplay: false, at: Timestamp(milliseconds: 0))
                unwritten += EventDraft.events(of: message, number: identity.record, in: key, kind: nil)
            }
        }
        return EventFold(after: record, subjects: subjects, unwritten: unwritten)
    }
}
