import Synchronization

/// A queue of the store's changes in the order in which they happened; empty while inactive.
///
/// Its reader makes events from the changes. The journal and the conversations add changes without waiting: a
/// record is parsed later, by the reader.
final class EventFeed: Sendable {
    fileprivate enum Entry: Sendable {
        case message(UInt64, ReceivedMessage, claimedBy: Person?)
        case record(UInt64, body: [UInt8])
        case line(LineIdentity, FoundLine?)
    }

    fileprivate struct State {
        var entries: [Entry] = []
        var bytes = 0
        var hasOverflowed = false
    }

    /// The maximum bytes of queued changes; above it, all are dropped until the reader calls ``take()``.
    static let maximumBytes = 32 << 20

    private let state = Mutex(State())
    private let active = Atomic(false)
    private let wake: AsyncStream<Void>.Continuation
    /// Yields a value when there are changes; for one consumer.
    let wakeups: AsyncStream<Void>

    init() { (wakeups, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Whether changes are kept; never blocks.
    var isActive: Bool { active.load(ordering: .relaxed) }

    /// Starts keeping changes, or stops; drops the queued ones, which belong to an earlier reader.
    func setActive(_ isActive: Bool) {
        active.store(isActive, ordering: .sequentiallyConsistent)
        state.withLock { $0 = State() }
    }

    /// Adds the records of a batch; called on the journal's queue before any waiting caller is resumed.
    func add(_ entries: [JournalEntry], _ result: Journal.BatchResult) {
        guard isActive, case .durable(let records) = result, !entries.isEmpty else { return }
        state.withLock { state in
            for (entry, record) in zip(entries, records) {
                guard state.count(entry.body.count + 64) else { break }
                if case .sender(let message, _) = entry.waiter {
                    state.entries.append(
                        .message(
                            record.number, message.message,
                            claimedBy: entry.record.meaning.assigns == nil
                                ? nil : message.message.author?.person))
                } else {
                    state.entries.append(.record(record.number, body: entry.body))
                }
            }
        }
        wake.yield()
    }

    /// Adds a line that was written to its conversation's file, or nil for a line that could not be written.
    ///
    /// The calls must have the order of the lines.
    func add(_ identity: LineIdentity, _ line: @autoclosure () -> FoundLine?) {
        guard isActive, !identity.isFilesOnly else { return }
        let line = line()
        state.withLock { state in
            if state.count((line?.text?.count ?? 0) + 128) { state.entries.append(.line(identity, line)) }
        }
        wake.yield()
    }

    /// Removes and returns the queued changes; nil when changes were dropped since the last call.
    func take() -> [DurableChange]? {
        let taken = state.withLock { state in
            defer { state = State() }
            return state
        }
        if taken.hasOverflowed { return nil }
        return taken.entries.map { entry in
            switch entry {
            case .message(let number, let message, let claimant):
                .record(number, EventRecord(message, claimedBy: claimant))
            case .record(let number, let body): .record(number, EventRecord(body: body))
            case .line(let identity, let line): .line(identity, line)
            }
        }
    }

    /// The first queued record; nil when there is none.
    var firstRecord: UInt64? {
        state.withLock { state in
            for entry in state.entries {
                switch entry {
                case .message(let number, _, _), .record(let number, _): return number
                case .line: continue
                }
            }
            return nil
        }
    }

    /// The queued lines that were written now, not by an earlier process.
    var writtenLines: Set<LineIdentity> {
        state.withLock { state in
            Set(
                state.entries.compactMap { entry in
                    if case .line(let identity, .some) = entry { identity } else { nil }
                })
        }
    }

    /// Drops the queued changes; `take` then returns nil, so that the reader starts again without old events.
    func reset() {
        guard isActive else { return }
        state.withLock { $0 = State(hasOverflowed: true) }
        wake.yield()
    }

    /// Yields a value in ``wakeups``.
    func wakeUp() { wake.yield() }

    /// Ends ``wakeups``.
    func close() {
        setActive(false)
        wake.finish()
    }
}

extension EventFeed.State {
    fileprivate mutating func count(_ size: Int) -> Bool {
        if hasOverflowed { return false }
        bytes += size
        guard bytes > EventFeed.maximumBytes else { return true }
        self = Self(hasOverflowed: true)
        return false
    }
}
