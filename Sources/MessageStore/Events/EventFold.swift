import BusinessMessages

/// Makes events from the store's changes, in the order in which they are sent, each with its place.
///
/// An event with a line is sent when the line is written, any other event when its record is durable. The
/// events of a conversation therefore have the order of its file. The place of an event is the last record of
/// which every event was sent. This type has no side effects.
struct EventFold {
    private var waiting: [LineIdentity: [StoreEvent]] = [:]
    /// The records with events that are not sent; `smallest` finds the smallest of them.
    private(set) var unsent: Set<UInt64> = []
    private var smallest = MinimumHeap<UInt64>()
    /// The last record that was applied.
    private(set) var last: UInt64

    /// Begins after the record `last`; `unwritten` are the events whose lines were not written by then.
    init(after last: UInt64, unwritten: [StoreEvent] = []) {
        self.last = last
        for event in unwritten { wait(for: event) }
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

    /// Applies a change; returns the events to be sent now.
    ///
    /// The line that ``StoreEvent/neededLine`` names must be looked up before.
    mutating func apply(_ change: DurableChange) -> [PlacedEvent] {
        switch change {
        case .record(let number, let record, let conversation):
            guard number > last else { return [] }
            // A message ends only after its line was written or failed to be, so a waiting event's line can be
            // looked up.
            var due = record.meaning.finishes.map { take(LineIdentity(record: $0, reply: nil)) } ?? []
            let events = conversation.map { StoreEvent.events(of: record, number: number, in: $0) } ?? []
            // `through` stays before this record until all of its events are sent.
            if !events.isEmpty { begin(number) }
            last = number
            for event in events {
                if event.missingLine == nil { due.append(event) } else { wait(for: event) }
            }
            return send(due)
        case .line(let identity, let found, _):
            return send(take(identity).map { event in found.map { event.completed(with: $0) } ?? event })
        }
    }

    private mutating func begin(_ record: UInt64) {
        if unsent.insert(record).inserted { smallest.insert(record) }
    }

    private mutating func wait(for event: StoreEvent) {
        guard let line = event.missingLine else { return }
        begin(event.key.record)
        waiting[line, default: []].append(event)
    }

    private mutating func take(_ line: LineIdentity) -> [StoreEvent] {
        waiting.removeValue(forKey: line) ?? []
    }

    /// Returns the events with their places; a record counts as sent with the last of its consecutive events.
    private mutating func send(_ events: [StoreEvent]) -> [PlacedEvent] {
        var due: [PlacedEvent] = []
        for (index, event) in events.enumerated() {
            let record = event.key.record
            if index + 1 == events.count || events[index + 1].key.record != record { unsent.remove(record) }
            due.append(PlacedEvent(event: event, through: through))
        }
        return due
    }
}
