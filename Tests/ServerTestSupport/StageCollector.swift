package import MessageServer
import Synchronization

/// Records all stage events, and lets a test wait for one.
package final class StageCollector: StageObserver {
    private typealias Waiter = (
        wanted: @Sendable (StageEvent) -> Bool, CheckedContinuation<StageEvent, Never>
    )
    private let state = Mutex<(events: [StageEvent], waiters: [Waiter])>(([], []))

    /// Creates a collector without events.
    package init() {}

    package var events: [StageEvent] { state.withLock { $0.events } }

    package func observe(_ event: StageEvent) {
        let ready = state.withLock { state in
            state.events.append(event)
            // Called once for each event: the predicate may have side effects.
            var ready: [CheckedContinuation<StageEvent, Never>] = []
            state.waiters.removeAll { waiter in
                guard waiter.wanted(event) else { return false }
                ready.append(waiter.1)
                return true
            }
            return ready
        }
        for waiter in ready { waiter.resume(returning: event) }
    }

    /// Waits until `count` events match.
    package func count(_ count: Int, where wanted: @escaping @Sendable (StageEvent) -> Bool) async {
        let seen = Mutex(0)
        await first { event in
            guard wanted(event) else { return false }
            return seen.withLock { seen in
                seen += 1
                return seen == count
            }
        }
    }

    /// Waits for an event, past or future, that matches.
    @discardableResult
    package func first(where wanted: @escaping @Sendable (StageEvent) -> Bool) async -> StageEvent {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state -> StageEvent? in
                if let event = state.events.first(where: wanted) { return event }
                state.waiters.append((wanted, continuation))
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    /// An observer that passes each event to this collector, then to `other`.
    package func and(_ other: any StageObserver) -> any StageObserver { Both(first: self, second: other) }

    private struct Both: StageObserver {
        let first: any StageObserver
        let second: any StageObserver
        func observe(_ event: StageEvent) {
            first.observe(event)
            second.observe(event)
        }
    }
}
