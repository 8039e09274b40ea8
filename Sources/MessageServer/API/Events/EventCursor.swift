import BalloonPOSIX
import MessageStore

/// The way of one follower from its place to the end of the ring.
///
/// ```
///   start ──> journal, part by part ──> ring ──> end
///     ^              │                   │
///     └──────────────┴───────────────────┘  the turn expired, or the ring no longer has the place
/// ```
struct EventCursor: Sendable {
    /// The next part of the way.
    enum Part: Sendable {
        /// Further wanted events of the journal, or further events of the ring; possibly none.
        case events([PlacedEvent])
        /// Other followers read the journal first.
        case waiting
        /// Events are missing: the journal no longer has them, or never had the place.
        case reset
        /// The end of the ring.
        case end
    }

    private enum Position {
        /// Nothing is decided yet.
        case start
        /// A turn to read the journal.
        case journal(JournalTurn)
        /// The events of the ring from this position on whose records are later.
        case ring(Int, after: UInt64)
        /// The end of the ring when the follower arrived.
        case latest
    }

    /// The last record of which the follower has every event; nil before the first event.
    private(set) var through: UInt64?
    private var position: Position
    /// The rest of the way behind the journal, while that is read.
    private var rest: (ring: Int, after: UInt64)?
    /// The bytes of one part of the ring.
    private static let partBytes = 64 << 10

    /// Begins at the end of the ring.
    static let latest = EventCursor(through: nil, position: .latest)

    /// Resumes behind a place; one that no server wrote is like one that the journal no longer has.
    init(after id: String) {
        let digits = id.utf8.allSatisfy { (0x30...0x39).contains($0) }
        self.init(through: (digits ? UInt64(id) : nil) ?? .max, position: .start)
    }

    private init(through: UInt64?, position: Position) {
        self.through = through
        self.position = position
    }

    /// The next part; `arrive` is called at the end of the ring, under the lock that covers it.
    ///
    /// Waits at most `patience` for a turn to read the journal.
    mutating func next(
        of hub: EventHub, _ filter: EventFilter, patience: Duration, arrive: () -> Void
    ) async throws -> Part {
        if case .start = position {
            switch resumption(of: hub) {
            case .reset: return reset(hub)
            case .ring(let start): position = .ring(start, after: through ?? .max)
            case .journal: position = .journal(JournalTurn(among: hub.turns))
            }
        }
        guard case .journal(let turn) = position else { return nextOfRing(hub, arrive) }
        guard try await turn.begins(within: patience) else { return .waiting }
        return try await nextOfJournal(hub, filter, turn)
    }

    private func resumption(of hub: EventHub) -> EventRing.Resumption {
        let first = hub.store.firstRecord
        return hub.withState { state in
            state.ring.resume(
                after: through ?? .max, last: state.last, first: first, unsent: state.unsent)
        }
    }

    private mutating func nextOfJournal(
        _ hub: EventHub, _ filter: EventFilter, _ turn: JournalTurn
    ) async throws -> Part {
        let place = through ?? .max
        var begin: (last: UInt64, exclusion: EventExclusion)?
        if rest == nil {
            // Decided anew, because the ring has changed during the wait.
            guard case .journal(let last, let exclusion, let start) = resumption(of: hub) else {
                position = .start
                return .events([])
            }
            rest = (start, place)
            begin = (last, exclusion)
        }
        let reading = Task(executorPreference: hub.readers) { [begin] in
            try turn.read {
                guard let begin else { throw EventCatchUp.MissingRecords() }
                return try hub.store.pastEvents(
                    after: place, through: begin.last, excluding: begin.exclusion
                ) { hub.slug(of: $0, for: filter) != nil }
            }
        }
        let part: EventCatchUp.Part?
        do { part = try await reading.value } catch is EventCatchUp.MissingRecords { return reset(hub) }
        let isLater = part.map { $0.through > place } ?? false
        through = max(place, part?.through ?? 0)
        if let rest, part?.isLast == true {
            // The ring has the excluded events, and all later ones.
            position = .ring(rest.ring, after: rest.after)
            self.rest = nil
        } else if part == nil || isLater && turn.isOver {
            (position, rest) = (.start, nil)
        } else {
            turn.expireSoon()
        }
        return .events(part?.events ?? [])
    }

    /// Resets the follower to the end of the ring.
    private mutating func reset(_ hub: EventHub) -> Part {
        rest = nil
        hub.withState { state in
            through = state.through
            position = .ring(state.ring.end, after: 0)
        }
        return .reset
    }

    private mutating func nextOfRing(_ hub: EventHub, _ arrive: () -> Void) -> Part {
        hub.withState { state in
            if case .latest = position {
                through = state.through
                position = .ring(state.ring.end, after: 0)
            }
            guard case .ring(let start, let place) = position, let rest = state.ring.events(from: start)
            else {
                // The ring is ahead by more than it keeps.
                position = .start
                return .events([])
            }
            guard !rest.isEmpty else {
                through = max(through ?? 0, state.through)
                arrive()
                return .end
            }
            var part: [PlacedEvent] = []
            var (count, bytes) = (0, 0)
            for event in rest {
                if bytes > Self.partBytes { break }
                count += 1
                through = max(through ?? 0, event.through)
                guard event.event.key.record > place else { continue }
                part.append(event)
                bytes += 256 + (event.event.line?.count ?? 0)
            }
            position = .ring(start + count, after: place)
            return .events(part)
        }
    }
}
