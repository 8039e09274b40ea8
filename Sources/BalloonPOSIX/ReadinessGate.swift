import Synchronization

/// A gate at which callers wait while something, such as a handler, is not ready.
///
/// Invariant: a caller waits only while the gate is closed. After ``closeForGood()`` no caller waits.
package final class ReadinessGate: Sendable {
    private enum State { case closed, open, closedForGood }

    private let state = Mutex(State.closed)
    private let waiters = ChangeWaiters()

    /// Creates a closed gate.
    package init() {}

    /// Waits until the gate is open; returns false after ``closeForGood()``, or when the task is cancelled.
    package func wait() async -> Bool {
        while !Task.isCancelled {
            switch state.withLock({ $0 }) {
            case .open: return true
            case .closedForGood: return false
            case .closed: await waiters.wait { self.state.withLock { $0 != .closed } }
            }
        }
        return false
    }

    /// Opens the gate: resumes all waiters and admits later callers at once.
    package func open() { change(to: .open) }

    /// Closes the gate: later callers wait.
    package func close() { change(to: .closed) }

    /// Closes the gate permanently: all waiters and later callers get false.
    package func closeForGood() { change(to: .closedForGood) }

    private func change(to new: State) {
        state.withLock { if $0 != .closedForGood { $0 = new } }
        waiters.wakeAll()
    }
}
