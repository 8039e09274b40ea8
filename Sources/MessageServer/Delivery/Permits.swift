import Synchronization

/// A bounded number of permits, given to whoever waits longest.
final class Permits: Sendable {
    private struct State {
        var free: Int
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// Tickets in the order of asking; those of cancelled tasks are skipped.
        var order: [Int] = []
        var nextTicket = 0
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

    /// Takes a permit, waiting for one if need be; false when the task is cancelled first.
    func take() async -> Bool {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiting[ticket] = continuation
                    state.order.append(ticket)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume(returning: false)
        }
    }

    /// Gives a permit back.
    func giveBack() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            while !state.order.isEmpty {
                if let waiting = state.waiting.removeValue(forKey: state.order.removeFirst()) {
                    return waiting
                }
            }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }
}
