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

    /// The last record before those that the feed has; see ``EventRing``.
    package let begin: UInt64

    /// Begins with the changes after the beginning, and with earlier messages and replies without their lines.
    ///
    /// The events of one conversation have the order of its lines, also across the beginning: an event is from
    /// the past exactly when its line was written before the feed was active. A later line's event comes from
    /// the feed, even when its record is earlier.
    fileprivate init(_ store: Store, _ beginning: Store.EventBeginning) {
        self.store = store
        begin = beginning.record
        fold = store.makeFold(beginning)
    }

    /// The last record that was read.
    package var last: UInt64 { fold.last }
    /// The records with events that wait for their lines.
    package var unsent: Set<UInt64> { fold.unsent }
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
                events.append(PlacedEvent(event: lookedUp(due.event), through: due.through))
            }
        }
        return events
    }

    private func lookedUp(_ event: StoreEvent) -> StoreEvent {
        guard let line = event.neededLine else { return event }
        do {
            return event.completed(in: try store.find([line], in: event.conversationKey))
        } catch {
            // The file cannot be read, so the event is sent without the line and marked as truncated.
            return event.completed(with: nil, isSearchComplete: false)
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
    package var firstRecord: UInt64 { journalState.withState { $0.ledger.segments.first?.first ?? 1 } }

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

    /// Searches a conversation's file for lines.
    fileprivate func find(
        _ lines: Set<LineIdentity>, in conversation: ConversationKey
    ) throws(StoreError) -> FoundLines {
        var search = try LineSearch(for: lines, in: conversation, of: DataDirectory(path: directory))
        return try search.finish()
    }

    fileprivate func makeFold(_ beginning: EventBeginning) -> EventFold {
        var unwritten: [ConversationKey: [LineIdentity: [StoreEvent]]] = [:]
        func addMessage(_ record: UInt64, in key: ConversationKey) {
            // The line has the id and the time of the event.
            unwritten[key, default: [:]][LineIdentity(record: record, reply: nil)] = [
                .received(record, in: key)
            ]
        }
        for lease in scheduler.all
        where lease.pending.record <= beginning.record && !lease.pending.recording.isDone {
            addMessage(lease.pending.record, in: lease.conversation)
        }
        for reply in beginning.replies {
            guard let record = reply.record else { continue }
            unwritten[reply.conversation, default: [:]][reply.line] = StoreEvent.events(
                of: reply.end, number: record, in: reply.conversation)
        }
        // If a line was written before the feed was active, its event is in the past, and followers read it
        // from the journal. If the file cannot be read, the event waits until the line is written or fails to
        // be.
        let found = unwritten.map { key, wanted in
            (key, (try? find(Set(wanted.keys), in: key))?.lines ?? [:])
        }
        let written = feed.writtenLines
        for (key, found) in found {
            for line in found.keys where written[line] == nil { unwritten[key]?[line] = nil }
        }
        // These messages were recorded between the beginning and now.
        for (line, key) in written
        where line.reply == nil && line.record <= beginning.record && unwritten[key]?[line] == nil {
            addMessage(line.record, in: key)
        }
        return EventFold(
            after: beginning.record, unwritten: unwritten.values.flatMap { $0.values.flatMap(\.self) })
    }
}
