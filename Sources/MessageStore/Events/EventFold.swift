import BusinessMessages

/// A change of the store, in the order in which changes became durable or were written.
enum DurableChange: Sendable {
    /// A record is on disk; the value is nil for a record without events.
    case record(UInt64, EventRecord?)
    /// A line is in its conversation's file.
    ///
    /// The second value is nil when the line was written before, or could not be written.
    case line(LineIdentity, FoundLine?)
}

/// Makes events from the store's changes, in the order in which they are sent, each with its place.
///
/// An event with a line is sent when the line is written, any other event when its record is durable. The
/// events of a conversation therefore have the order of its file. The place of an event is the last record of
/// which every event was sent. This type has no side effects.
struct EventFold {
    /// An event to be sent now, with its line if that is known.
    struct Due: Sendable {
        let draft: EventDraft
        let line: FoundLine?
        /// Whether the line must be looked up in the file.
        let needsLookup: Bool
        /// The last record of which, as of all earlier ones, every event is sent once this event is.
        let through: UInt64
    }

    private var subjects: EventSubjects
    private var waiting: [LineIdentity: [EventDraft]] = [:]
    /// The records with events that are not sent; `smallest` finds the smallest of them.
    private var unsent: Set<UInt64> = []
    private var smallest = MinimumHeap<UInt64>()
    /// The last record that was applied.
    private(set) var last: UInt64

    /// Begins after the record `last`.
    ///
    /// `subjects` are the messages that had not ended by then, and `unwritten` the events whose lines were
    /// not written.
    init(after last: UInt64, subjects: EventSubjects = EventSubjects(), unwritten: [EventDraft] = []) {
        self.last = last
        self.subjects = subjects
        for draft in unwritten { wait(for: draft) }
    }

    /// The last record of which every event was sent; the same is true of all records before it.
    var through: UInt64 {
        mutating get {
            while let first = smallest.first {
                if unsent.contains(first) { return min(first - 1, last) }
                _ = smallest.popFirst()
            }
            return last
        }
    }

    /// The records with events that wait for their lines.
    var unsentRecords: Set<UInt64> { unsent }
    /// Whether the conversation of a message is known.
    func knows(_ record: UInt64) -> Bool { subjects.conversation(of: record) != nil }

    /// Adds the conversation of a message that began before the first record that is read.
    mutating func keep(_ record: UInt64, in conversation: ConversationKey) {
        subjects.keep(record, in: conversation)
    }

    /// The number of messages whose conversation is kept.
    var subjectCount: Int { subjects.count }

    /// Applies a change; returns the events to be sent now.
    mutating func apply(_ change: DurableChange) -> [Due] {
        switch change {
        case .record(let number, let record):
            guard number > last else { return [] }
            guard let record else {
                last = number
                return []
            }
            return apply(record, number)
        case .line(let identity, let found):
            if let found, identity.reply == nil { subjects.setKind(found.kind, of: identity.record) }
            return take(identity).map { ($0, found, found == nil) }.due(&self)
        }
    }

    private mutating func apply(_ record: EventRecord, _ number: UInt64) -> [Due] {
        // A message ends only after its line was written or failed to be, so a waiting event's line can be
        // looked up.
        var due: [(EventDraft, FoundLine?, Bool)] = []
        if case .finished(let of, _, _, _, _) = record {
            due = take(LineIdentity(record: of, reply: nil)).map { ($0, nil, true) }
        }
        let about = subjects.apply(record, number: number)
        let drafts =
            about.map { EventDraft.events(of: record, number: number, in: $0.key, kind: $0.kind) } ?? []
        // `through` stays before this record until all of its events are sent.
        if !drafts.isEmpty { begin(number) }
        last = number
        for draft in drafts {
            if draft.line == nil { due.append((draft, nil, false)) } else { wait(for: draft) }
        }
        return due.due(&self)
    }

    private mutating func begin(_ record: UInt64) {
        if unsent.insert(record).inserted { smallest.insert(record) }
    }

    private mutating func wait(for draft: EventDraft) {
        guard let line = draft.line else { return }
        begin(draft.event.key.record)
        waiting[line, default: []].append(draft)
    }

    private mutating func take(_ line: LineIdentity) -> [EventDraft] {
        waiting.removeValue(forKey: line) ?? []
    }

    fileprivate mutating func end(_ record: UInt64) { unsent.remove(record) }
}

extension [(EventDraft, FoundLine?, Bool)] {
    /// Returns the events with their places; a record counts as sent with the last of its consecutive events.
    fileprivate func due(_ fold: inout EventFold) -> [EventFold.Due] {
        var due: [EventFold.Due] = []
        for (index, (draft, line, needsLookup)) in enumerated() {
            let record = draft.event.key.record
            if index + 1 == count || self[index + 1].0.event.key.record != record { fold.end(record) }
            due.append(
                EventFold.Due(draft: draft, line: line, needsLookup: needsLookup, through: fold.through))
        }
        return due
    }
}
