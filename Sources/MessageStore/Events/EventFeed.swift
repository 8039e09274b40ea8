import Synchronization

/// A change of the store, in the order in which changes became durable or were written.
enum DurableChange: Sendable {
    /// A record is on disk; the conversation is that of the message which it begins or changes, if it has one.
    case record(UInt64, AppendedRecord, in: ConversationKey?)
    /// A line is in its conversation's file.
    ///
    /// The second value is nil when the line was written before, or could not be written.
    case line(LineIdentity, FoundLine?, in: ConversationKey)

    /// The approximate size in memory.
    fileprivate var sizeBytes: Int {
        switch self {
        case .record(_, let record, _): record.body.count + 128
        case .line(_, let line, _): (line?.text?.count ?? 0) + 128
        }
    }
}

/// A queue of the store's changes in the order in which they happened; empty while inactive.
///
/// Its reader makes events from the changes. The journal and the conversations add changes without waiting.
final class EventFeed: Sendable {
    private struct State {
        var changes: [DurableChange] = []
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

    /// Adds changes, such as the records of a batch before any waiting caller is resumed.
    func add(_ changes: [DurableChange]) {
        guard isActive, !changes.isEmpty else { return }
        state.withLock { state in
            if state.hasOverflowed { return }
            state.changes += changes
            state.bytes += changes.reduce(0) { $0 + $1.sizeBytes }
            if state.bytes > Self.maximumBytes { state = State(hasOverflowed: true) }
        }
        wake.yield()
    }

    /// Adds a line that was written to its conversation's file, or nil for a line that could not be written.
    ///
    /// The calls must have the order of the lines.
    func add(_ entry: ConversationEntry, _ line: @autoclosure () -> FoundLine?) {
        guard isActive, !entry.isFilesOnly else { return }
        add([.line(entry.identity, line(), in: entry.conversation)])
    }

    /// Removes and returns the queued changes; nil when changes were dropped since the last call.
    func take() -> [DurableChange]? {
        let taken = state.withLock { state in
            defer { state = State() }
            return state
        }
        return taken.hasOverflowed ? nil : taken.changes
    }

    /// The first queued record; nil when there is none.
    var firstRecord: UInt64? {
        state.withLock { state in
            for case .record(let number, _, _) in state.changes { return number }
            return nil
        }
    }

    /// The queued lines that were written now, not by an earlier process, with their conversations.
    var writtenLines: [LineIdentity: ConversationKey] {
        state.withLock { state in
            var lines: [LineIdentity: ConversationKey] = [:]
            for case .line(let identity, .some, let key) in state.changes { lines[identity] = key }
            return lines
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
