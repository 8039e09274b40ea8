import BalloonPOSIX
import MessageStore

/// Reads the events that one follower, a stream or a page, still misses, up to the end of the ring.
///
/// The place of a follower is the last record of which it has every event. The ring is the buffer of the
/// latest events in memory.
///
/// ```
///   start ──> journal, part by part ──> ring ──> end
///     ^              │                   │
///     └──────────────┴───────────────────┘  the turn expired, or the ring no longer has the place
/// ```
struct EventCursor: Sendable {
    /// The result of one call of `next`.
    enum Part: Sendable {
        /// The next events, possibly none: the wanted ones when they come from the journal, all when they
        /// come from the ring.
        case events([PlacedEvent])
        /// The follower still waits for its turn, because other followers read the journal.
        case waiting
        /// The follower misses events: the journal no longer has them, or never had the follower's place.
        case reset
        /// The follower has all events up to the end of the ring.
        case end
    }

    private enum Position {
        /// The cursor has not decided yet whether to read the journal or the ring.
        case start
        /// The cursor reads the journal in this turn.
        case journal(JournalTurn)
        /// The cursor reads the ring from this position on, and skips events of records up to `after`.
        case ring(Int, after: UInt64)
        /// The cursor begins at the end of the ring, without earlier events.
        case latest
    }

    /// The last record of which the follower has every event; nil until a cursor at the end of the ring has
    /// read.
    private(set) var through: UInt64?
    private var position: Position
    /// The position in the ring at which to continue after the journal; nil unless the journal is being read.
    private var rest: (ring: Int, after: UInt64)?
    /// The maximum bytes of one part that comes from the ring.
    private static let partBytes = 64 << 10

    /// Begins at the end of the ring.
    static let latest = EventCursor(through: nil, position: .latest)

    /// Resumes behind the place that `id` names in the store of the numbers.
    ///
    /// An id of another store leads to `reset`, like a place that the journal no longer has.
    init(after id: String, in numbers: RecordNumbers) {
        self.init(through: EventID.place(id, in: numbers) ?? .max, position: .start)
    }

    private init(through: UInt64?, position: Position) {
        self.through = through
        self.position = position
    }

    /// Begins to wait for a turn to read the journal, if the ring does not have the events behind the place.
    ///
    /// Without this call, ``next(of:_:patience:arrive:)`` begins the wait. Throws a problem when too many
    /// followers of the token wait.
    mutating func begin(of hub: EventHub, _ filter: EventFilter) throws(APIProblem) {
        guard case .start = position, case .journal = resumption(of: hub) else { return }
        position = .journal(try JournalTurn(among: hub.turns, of: filter.token.name))
    }

    /// Returns the next part; calls `arrive` at the end of the ring, while it holds the lock of the ring.
    ///
    /// Waits at most `patience` for a turn to read the journal.
    mutating func next(
        of hub: EventHub, _ filter: EventFilter, patience: Duration, arrive: () -> Void
    ) async throws -> Part {
        if case .start = position {
            switch resumption(of: hub) {
            case .reset: return reset(hub)
            case .ring(let start): position = .ring(start, after: through ?? .max)
            case .journal: position = .journal(try JournalTurn(among: hub.turns, of: filter.token.name))
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
                after: through ?? .max, last: state.progress.last, first: first,
                unsent: state.progress.unsent)
        }
    }

    private mutating func nextOfJournal(
        _ hub: EventHub, _ filter: EventFilter, _ turn: JournalTurn
    ) async throws -> Part {
        let place = through ?? .max
        var begin: (last: UInt64, exclusion: EventExclusion)?
        if rest == nil {
            // Decide again between journal and ring, because the ring may have changed during the wait.
            guard case .journal(let last, let exclusion, let start) = resumption(of: hub) else {
                turn.end()
                position = .start
                return .events([])
            }
            rest = (start, place)
            begin = (last, exclusion)
        }
        let reading = Task(executorPreference: hub.readers[filter.token.name]) { [begin] in
            try turn.read {
                guard let begin else { throw EventCatchUp.MissingRecords() }
                return try hub.store.pastEvents(
                    after: place, through: begin.last, excluding: begin.exclusion
                ) { hub.slug(of: $0, for: filter) != nil }
            }
        }
        let part: EventCatchUp.Part?
        do {
            part = try await withTaskCancellationHandler {
                try await reading.value
            } onCancel: {
                reading.cancel()
            }
        } catch is EventCatchUp.MissingRecords { return reset(hub) }
        let isLater = part.map { $0.through > place } ?? false
        through = max(place, part?.through ?? 0)
        if let rest, part?.isLast == true {
            // The ring has the excluded events, and all later ones.
            turn.end()
            position = .ring(rest.ring, after: rest.after)
            self.rest = nil
        } else if part == nil || isLater && turn.isOver {
            turn.end()
            (position, rest) = (.start, nil)
        } else {
            turn.expireSoon()
        }
        return .events(part?.events ?? [])
    }

    /// Moves the follower to the end of the ring, without the events before it.
    private mutating func reset(_ hub: EventHub) -> Part {
        rest = nil
        hub.withState { state in
            through = state.progress.through
            position = .ring(state.ring.end, after: 0)
        }
        return .reset
    }

    private mutating func nextOfRing(_ hub: EventHub, _ arrive: () -> Void) -> Part {
        hub.withState { state in
            if case .latest = position {
                through = state.progress.through
                position = .ring(state.ring.end, after: 0)
            }
            guard case .ring(let start, let place) = position, let rest = state.ring.events(from: start)
            else {
                // The ring has removed events that the follower does not have yet, so the journal must be read.
                position = .start
                return .events([])
            }
            guard !rest.isEmpty else {
                through = max(through ?? 0, state.progress.through)
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
