import Synchronization

/// The tasks that wait for a change of a state which is kept elsewhere, behind its own lock.
///
/// Unlike `AsyncSemaphore` it decides nothing: each task looks at the state itself.
package final class ChangeWaiters: Sendable {
    private struct State {
        var tasks: [Int: CheckedContinuation<Void, Never>] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Creates an empty list.
    package init() {}

    /// Returns after the next ``wakeAll()``; at once when `isDue` returns true or the task is cancelled.
    package func wait(unless isDue: @Sendable () -> Bool) async {
        let ticket = state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Stored before the look at the state, so that no change between the two is missed.
                state.withLock { $0.tasks[ticket] = continuation }
                if isDue() || Task.isCancelled { wake(ticket) }
            }
        } onCancel: {
            wake(ticket)
        }
    }

    /// Resumes all tasks; call it after each change of the state.
    package func wakeAll() {
        let tasks = state.withLock { state in
            defer { state.tasks = [:] }
            return state.tasks.values
        }
        for task in tasks { task.resume() }
    }

    private func wake(_ ticket: Int) { state.withLock { $0.tasks.removeValue(forKey: ticket) }?.resume() }
}
