import BalloonPOSIX
package import HandlerKit
import Synchronization

/// The levers with which the inspector and a review slow handlers of businesses down, or stop them.
package final class HandlerLevers: Sendable {
    /// The lever of one business.
    struct Lever: Sendable {
        /// The pause before each call of the handler, which is part of the handler's time limit.
        var delay = Duration.zero
        /// Whether events wait in order, without an attempt, until the handler is started again.
        var isStopped = false
        fileprivate let gate = ReadinessGate()
    }

    private struct State {
        var levers: [BusinessID: Lever] = [:]
        var isEnded = false
    }

    private let state = Mutex(State())

    /// Creates levers that change nothing yet.
    package init() {}

    /// The lever of a business.
    subscript(business: BusinessID) -> Lever { state.withLock { $0.levers[business] } ?? Lever() }

    /// Sets the pause before each call of the handler of a business.
    package func slow(_ business: BusinessID, by delay: Duration) {
        state.withLock { $0.levers[business, default: Lever()].delay = delay }
    }

    func stop(_ business: BusinessID) {
        state.withLock { state in
            guard !state.isEnded, state.levers[business]?.isStopped != true else { return }
            // The new lever has a closed gate.
            state.levers[business] = Lever(delay: state.levers[business]?.delay ?? .zero, isStopped: true)
        }
    }

    func start(_ business: BusinessID) {
        let gate = state.withLock { state in
            state.levers[business]?.isStopped = false
            return state.levers[business]?.gate
        }
        gate?.open()
    }

    /// Waits while the handler of a business is stopped; throws when the task is cancelled.
    func waitUntilStarted(_ business: BusinessID) async throws(CancellationError) {
        while let lever = state.withLock({ $0.levers[business] }), lever.isStopped {
            guard await lever.gate.wait() else { throw CancellationError() }
        }
    }

    /// Starts all handlers, because the server stops.
    func end() {
        let stopped = state.withLock { state in
            state.isEnded = true
            return Array(state.levers.keys)
        }
        for business in stopped { start(business) }
    }
}
