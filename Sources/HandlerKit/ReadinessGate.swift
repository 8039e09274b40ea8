import Synchronization

/// A gate at which callers wait while a handler is not ready.
///
/// Invariant: a caller waits only while the gate is closed. After ``closeForGood()`` no caller waits.
package final class ReadinessGate: Sendable {
    private struct State {
        var isOpen = false
        var isClosedForGood = false
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var nextTicket = 0
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    package init() {}

    /// Waits until the gate is open; returns false after ``closeForGood()``, or when the task is cancelled.
    package func wait() async -> Bool {
        let (isOpen, ticket) = state.withLock { state in
            state.nextTicket += 1
            return (state.isOpen && !state.isClosedForGood && !Task.isCancelled, state.nextTicket)
        }
        if isOpen { return true }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.isClosedForGood || Task.isCancelled { return false }
                    if state.isOpen { return true }
                    state.waiting[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume(returning: false)
        }
    }

    /// Opens the gate: resumes all waiters and admits later callers at once.
    package func open() {
        resumeAll(returning: true) { $0.isOpen = true }
    }

    /// Closes the gate: later callers wait.
    package func close() { state.withLock { $0.isOpen = false } }

    /// Closes the gate permanently: all waiters and later callers get false.
    package func closeForGood() {
        resumeAll(returning: false) { $0.isClosedForGood = true }
    }

    private func resumeAll(returning isReady: Bool, after change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for waiter in waiting { waiter.resume(returning: isReady) }
    }
}
