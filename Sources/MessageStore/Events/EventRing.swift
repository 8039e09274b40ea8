package import BalloonPOSIX

/// The latest events in memory; decides from where a follower resumes.
package struct EventRing: Sendable {
    /// The source from which a follower resumes.
    package enum Resumption: Sendable {
        /// None: the journal no longer has the events after the follower's place, or the place never existed.
        case reset
        /// The ring alone: it has all events that the follower lacks, from this position on.
        case ring(from: Int)
        /// The journal, and then the ring from this position on.
        ///
        /// The journal has the events of the records up to `through`. The excluded events among them are in
        /// the ring, or will be added to it.
        case journal(through: UInt64, excluding: EventExclusion, from: Int)
    }

    /// The maximum number of events.
    package static let maximumCount = 4096
    /// The maximum bytes of the events.
    package static let maximumBytes = 8 << 20

    private var events = Deque<PlacedEvent>()
    private var bytes = 0
    /// The position of the first event.
    package private(set) var start: Int
    /// The largest record with an event that the ring has dropped or never had.
    package private(set) var evictedThrough: UInt64
    private let maximumCount: Int
    private let maximumBytes: Int

    /// Creates a ring for the events of records after `record`, and for earlier events that are not sent yet.
    ///
    /// Its positions begin after those of the ring that it replaces, so a position never means two events.
    package init(
        after record: UInt64, replacing earlier: EventRing? = nil, maximumCount: Int = Self.maximumCount,
        maximumBytes: Int = Self.maximumBytes
    ) {
        start = earlier.map { $0.end + 1 } ?? 0
        evictedThrough = record
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    /// The position behind the last event.
    package var end: Int { start + events.count }

    /// Adds an event; drops the oldest events while a limit is exceeded.
    package mutating func append(_ event: PlacedEvent) {
        events.append(event)
        bytes += event.sizeBytes
        while events.count > maximumCount || bytes > maximumBytes && events.count > 1,
            let oldest = events.popFirst()
        {
            evictedThrough = max(evictedThrough, oldest.event.key.record)
            bytes -= oldest.sizeBytes
            start += 1
        }
    }

    /// Returns the events from a position on; nil when the ring lacks one of them.
    package func events(from position: Int) -> Slice<Deque<PlacedEvent>>? {
        guard position >= start, position <= end else { return nil }
        return events[(position - start)...]
    }

    /// Decides from where a follower resumes that has received every event of the records up to `through`.
    ///
    /// `last` is the last record, and `first` the first one that the journal has. `unsent` are the records
    /// with events that wait for their lines.
    package func resume(
        after through: UInt64, last: UInt64, first: UInt64, unsent: Set<UInt64>
    ) -> Resumption {
        guard through <= last, through + 1 >= first else { return .reset }
        if through >= evictedThrough { return .ring(from: start) }
        let limit = evictedThrough
        let kept = events.lazy.map(\.event.key).filter { $0.record <= limit }
        return .journal(
            through: limit,
            excluding: EventExclusion(keys: Set(kept), records: unsent.filter { $0 <= limit }),
            from: start)
    }
}

/// The events that are not read from the journal, because the ring has them or will get them.
package struct EventExclusion: Sendable {
    let keys: Set<StoreEvent.Key>
    let records: Set<UInt64>

    /// The smallest record with an excluded event; nil when there is none.
    var smallest: UInt64? { (keys.map(\.record) + records).min() }

    func contains(_ key: StoreEvent.Key) -> Bool { records.contains(key.record) || keys.contains(key) }
}

extension PlacedEvent {
    /// The approximate size in memory.
    package var sizeBytes: Int { 320 + (event.line?.count ?? 0) + (event.reason?.utf8.count ?? 0) }
}
