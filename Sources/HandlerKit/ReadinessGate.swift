import Synchronization

/// Lets events through while a handler can take them, and makes them wait while it cannot.
package final class ReadinessGate: Sendable {
    private struct State {
        var isOpen = false
        var isClosedForGood = false
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var nextTicket = 0
    }

    private let state = Mutex(State())

    /// Makes a gate that is closed.
    package init() {}

    /// Waits until the gate is open; false when it never will be again, or the task is cancelled.
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

    /// Lets through who waits, and who comes.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for waiter in waiting { waiter.resume(returning: true) }
    }

    /// Makes who comes wait.
    package func close() { state.withLock { $0.isOpen = false } }

    /// Sends away who waits, and who comes.
    package func closeForGood() {
        let waiting = state.withLock { state in
            state.isClosedForGood = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for waiter in waiting { waiter.resume(returning: false) }
    }
}
