import BalloonPOSIX
import Dispatch
import MessageStore
import Synchronization

/// The way of one follower from its place to the end of the ring.
struct EventCursor: Sendable {
    /// The next part of the way.
    enum Part: Sendable {
        /// Further events; none of them when a whole part was not wanted.
        case events([PlacedEvent])
        /// Events are missing: the journal no longer has them, or never had the place.
        case reset
        /// The end of the ring.
        case end
    }

    private enum Position {
        /// Nothing is decided yet.
        case start
        /// The events of the ring from this position on whose records are later.
        case ring(Int, after: UInt64)
        /// The end of the ring when the follower arrived.
        case latest
    }

    /// The last record of which the follower has every event; nil before the first event.
    private(set) var through: UInt64?
    private var position: Position
    /// The number of parts that a follower reads of the journal before others take their turn.
    private static let maximumParts = 16
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
    /// `send` gets parts of the journal as they are read, and an empty part before the first one. It returns whether the
    /// follower wants more, and throws when the follower has left.
    mutating func next(
        of hub: EventHub, send: ([PlacedEvent]) async throws -> Bool, arrive: @Sendable () -> Void
    ) async throws -> Part {
        guard case .start = position else { return nextOfRing(hub, arrive) }
        let place = through ?? .max
        let first = try await onQueue { try hub.store.firstRecord() }
        let resumption = hub.withState { state in
            state.ring.resume(after: place, last: state.last, first: first, unsent: state.unsent)
        }
        switch resumption {
        case .reset: return reset(hub)
        case .ring(let start):
            position = .ring(start, after: place)
            return nextOfRing(hub, arrive)
        case .journal(let last, let exclusion, let start):
            return try await readJournal(hub, place, last, exclusion, start, send)
        }
    }

    private mutating func readJournal(
        _ hub: EventHub, _ place: UInt64, _ last: UInt64, _ exclusion: EventExclusion, _ start: Int,
        _ send: ([PlacedEvent]) async throws -> Bool
    ) async throws -> Part {
        guard await hub.readers.acquire() else { throw CancellationError() }
        defer { hub.readers.release() }
        // A follower that left while it waited reads nothing.
        guard try await send([]) else { return .events([]) }
        do {
            let reader = EventReader(
                try await onQueue {
                    try hub.store.pastEvents(after: place, through: last, excluding: exclusion)
                })
            for _ in 0..<Self.maximumParts {
                let events = try await onQueue { try reader.next() }
                guard let latest = events.last else {
                    // The ring has the excluded events, and all later ones.
                    position = .ring(start, after: place)
                    return .events([])
                }
                through = max(place, latest.through)
                guard try await send(events) else { return .events([]) }
            }
            // Others read first; the place is that of the last event.
            return .events([])
        } catch is EventCatchUp.MissingRecords {
            return reset(hub)
        }
    }

    /// Resets the follower to the end of the ring.
    private mutating func reset(_ hub: EventHub) -> Part {
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

/// A reader of past events that one follower owns and several threads use, one after the other.
private final class EventReader: Sendable {
    private let catchUp: Mutex<EventCatchUp>

    init(_ catchUp: EventCatchUp) { self.catchUp = Mutex(catchUp) }

    func next() throws -> [PlacedEvent] { try catchUp.withLock { try $0.next() } }
}

/// Runs blocking work on a queue.
private func onQueue<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "balloon.events.past").async {
            continuation.resume(with: Swift.Result { try work() })
        }
    }
}
