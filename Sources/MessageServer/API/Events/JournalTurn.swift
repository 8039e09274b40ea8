import MessageStore
import Synchronization

/// A follower's permission to read the journal: it waits for one of 16 turns, and keeps the reader between
/// parts.
///
/// A turn uses memory, but no thread. It expires when its follower takes more than a second between two
/// parts, so that slow followers do not delay others. The follower then waits for another turn, and continues
/// at its place.
final class JournalTurn: Sendable {
    private struct State {
        var turn: JournalTurns.Turn?
        /// Whether the follower is reading the journal now; reading does not hold the lock of this state.
        var isReading = false
        var hasEnded = false
        var reader: EventCatchUp?
        var began = ContinuousClock.now
        var waiting: Task<Void, Never>?
        var expiry: Task<Void, Never>?
    }

    /// The time that a follower may take between two parts.
    private static let patience = Duration.seconds(1)
    /// The time after which a turn ends, so that other followers can read.
    private static let length = Duration.seconds(10)

    private let turns: JournalTurns
    private let permit: OperationPermit
    private let state = Mutex(State())
    /// Yields when the turn begins and when a wait ends; finished when the server stops.
    private let wakeups = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Begins to wait for a turn of this token; throws a problem when too many followers of the token wait.
    init(among turns: JournalTurns, of token: String) throws(APIProblem) {
        permit = try turns.enter(token)
        self.turns = turns
        let wake = wakeups.continuation
        let waiting = Task { [weak self] in
            guard let turn = await turns.acquire(token) else { return wake.finish() }
            // The follower may have left meanwhile.
            guard self?.begin(turn) == true else { return turns.release(turn) }
            wake.yield()
        }
        state.withLock { $0.waiting = waiting }
    }

    deinit { end() }

    private func begin(_ turn: JournalTurns.Turn) -> Bool {
        state.withLock { state in
            if state.hasEnded { return false }
            (state.turn, state.began) = (turn, .now)
            return true
        }
    }

    /// Ends the turn, or the wait for it.
    func end() {
        let turn = state.withLock { state in
            state.waiting?.cancel()
            state.expiry?.cancel()
            defer { (state.turn, state.hasEnded, state.reader) = (nil, true, nil) }
            return state.turn
        }
        if let turn { turns.release(turn) }
        permit.release()
    }

    /// Waits for the turn; returns false when `time` passes first.
    ///
    /// Throws when the server stops.
    func begins(within time: Duration) async throws -> Bool {
        if state.withLock({ $0.turn != nil || $0.hasEnded }) { return true }
        let timer = Task { [wake = wakeups.continuation] in
            // Cancelled when the turn began.
            if (try? await Task.sleep(for: time)) != nil { wake.yield() }
        }
        defer { timer.cancel() }
        var iterator = wakeups.stream.makeAsyncIterator()
        guard await iterator.next() != nil else { throw CancellationError() }
        return state.withLock { $0.turn != nil }
    }

    /// Reads the next part of the journal; returns nil when the turn of this follower has expired.
    ///
    /// It blocks on the disk without holding the lock, because timers need the lock. `open` creates the
    /// reader when a new turn begins.
    func read(_ open: () throws -> EventCatchUp) throws -> EventCatchUp.Part? {
        let (isAllowed, kept) = state.withLock { state -> (Bool, EventCatchUp?) in
            state.expiry?.cancel()
            guard state.turn != nil, !state.isReading else { return (false, nil) }
            state.isReading = true
            defer { state.reader = nil }
            return (true, state.reader)
        }
        guard isAllowed else { return nil }
        defer { state.withLock { $0.isReading = false } }
        var reader = try kept ?? open()
        let part = try reader.next()
        state.withLock { if $0.turn != nil { $0.reader = reader } }
        return part
    }

    /// Whether the turn has lasted long enough, so that other followers should read next.
    var isOver: Bool { state.withLock { $0.began.duration(to: .now) > Self.length } }

    /// Ends the turn in one second, unless another part is read before.
    func expireSoon() {
        let expiry = Task { [weak self] in
            // Cancelled when the next part is read.
            guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
            self?.end()
        }
        state.withLock { $0.expiry = expiry }
    }
}
