import Synchronization
public import Testing

/// Collects events, and lets a test wait for an event that has occurred already or occurs later.
public final class EventCollector<Event: Sendable>: Sendable {
    private struct Waiter {
        let id: Int
        let wanted: @Sendable (Event) -> Bool
        let continuation: CheckedContinuation<Event?, Never>
    }

    private struct State {
        var events: [Event] = []
        var waiters: [Waiter] = []
        var isFinished = false
    }

    private let state = Mutex(State())
    private let lastID = Atomic(0)

    /// Creates a collector without events.
    public init() {}

    /// Every event so far.
    public var events: [Event] { state.withLock { $0.events } }

    /// Adds an event, and resumes its waiters.
    public func append(_ event: Event) {
        let ready = state.withLock { state in
            state.events.append(event)
            // Call `wanted` exactly once for each event, because it may count the events.
            var ready: [Waiter] = []
            state.waiters.removeAll { waiter in
                guard waiter.wanted(event) else { return false }
                ready.append(waiter)
                return true
            }
            return ready
        }
        for waiter in ready { waiter.continuation.resume(returning: event) }
    }

    /// Resumes all waiters with nil, because no further event follows.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    /// Waits for an event that `wanted` accepts, among the events so far and later ones.
    ///
    /// Calls `wanted` once for each event, so that it may count. When there is none within ``WaitLimit``, the test
    /// fails and the result is nil.
    @discardableResult
    public func first(
        _ location: SourceLocation = #_sourceLocation, where wanted: @escaping @Sendable (Event) -> Bool
    ) async -> Event? {
        let id = lastID.add(1, ordering: .relaxed).newValue
        let event = await WaitLimit.apply(expire: { [weak self] in self?.expire(id) }) {
            await wait(as: id, for: wanted)
        }
        if event == nil {
            Issue.record(
                "no such event within \(WaitLimit.seconds) s; the last are \(events.suffix(20))",
                sourceLocation: location)
        }
        return event
    }

    /// Waits for an event like ``first(_:where:)``, without a time limit; returns nil after ``finish()``.
    func firstUntilFinish(where wanted: @escaping @Sendable (Event) -> Bool) async -> Event? {
        await wait(as: lastID.add(1, ordering: .relaxed).newValue, for: wanted)
    }

    private func wait(as id: Int, for wanted: @escaping @Sendable (Event) -> Bool) async -> Event? {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                let event = state.events.first(where: wanted)
                if event != nil || state.isFinished {
                    continuation.resume(returning: event)
                } else {
                    state.waiters.append(Waiter(id: id, wanted: wanted, continuation: continuation))
                }
            }
        }
    }

    /// Waits for `count` events that `wanted` accepts, like ``first(_:where:)``.
    public func count(
        _ count: Int, _ location: SourceLocation = #_sourceLocation,
        where wanted: @escaping @Sendable (Event) -> Bool
    ) async {
        let seen = Mutex(0)
        await first(location) { event in
            guard wanted(event) else { return false }
            return seen.withLock { seen in
                seen += 1
                return seen == count
            }
        }
    }

    private func expire(_ id: Int) {
        let expired = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        expired?.continuation.resume(returning: nil)
    }
}
