import MessageStore
import Synchronization

/// The permission of one follower to read the journal: waits for one of 16 turns, and keeps the reader between parts.
///
/// A turn holds memory and no thread. It expires when its follower takes more than a second between two parts, so that
/// slow followers do not delay others; then the follower waits for another turn, and continues at its place.
final class JournalTurn: Sendable {
    private struct State {
        var isHeld = false
        var hasEnded = false
        var reader: EventCatchUp?
        var began = ContinuousClock.now
        var waiting: Task<Void, Never>?
        var expiry: Task<Void, Never>?
    }

    /// The number of turns; the reader of each holds a few megabytes.
    static let maximumCount = 16
    /// The time that a follower may take between two parts.
    private static let patience = Duration.seconds(1)
    /// The time after which a turn ends, so that other followers can read.
    private static let length = Duration.seconds(10)

    private let turns: AsyncSemaphore
    private let state = Mutex(State())
    /// Yields when the turn begins and when a wait ends; finished at a stop.
    private let wakeups = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Begins to wait for one of `turns`.
    init(among turns: AsyncSemaphore) {
        self.turns = turns
        let wake = wakeups.continuation
        let waiting = Task { [weak self] in
            guard await turns.acquire() else { return wake.finish() }
            // The follower may have left during the wait; then another follower gets the turn.
            guard self?.begin() == true else { return turns.release() }
            wake.yield()
        }
        state.withLock { $0.waiting = waiting }
    }

    deinit { end() }

    private func begin() -> Bool {
        state.withLock { state in
            if state.hasEnded { return false }
            (state.isHeld, state.began) = (true, .now)
            return true
        }
    }

    private func end() {
        let isHeld = state.withLock { state in
            state.waiting?.cancel()
            state.expiry?.cancel()
            defer { (state.isHeld, state.hasEnded, state.reader) = (false, true, nil) }
            return state.isHeld
        }
        if isHeld { turns.release() }
    }

    /// Waits for the turn; false when the time ends first.
    ///
    /// Throws when the server stops.
    func begins(within time: Duration) async throws -> Bool {
        if state.withLock({ $0.isHeld || $0.hasEnded }) { return true }
        let timer = Task { [wake = wakeups.continuation] in
            // Cancelled when the turn began.
            if (try? await Task.sleep(for: time)) != nil { wake.yield() }
        }
        defer { timer.cancel() }
        var iterator = wakeups.stream.makeAsyncIterator()
        guard await iterator.next() != nil else { throw CancellationError() }
        return state.withLock { $0.isHeld }
    }

    /// Reads the next part; nil when the turn has expired.
    ///
    /// Blocks on the disk. `open` creates the reader of a new turn.
    func read(_ open: () throws -> EventCatchUp) throws -> EventCatchUp.Part? {
        try state.withLock { state in
            state.expiry?.cancel()
            guard state.isHeld else { return nil }
            if state.reader == nil { state.reader = try open() }
            return try state.reader?.next()
        }
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
