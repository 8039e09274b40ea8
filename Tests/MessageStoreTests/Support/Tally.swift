import MessageStore
import Synchronization

/// Counts answers from any thread until all expected ones arrived.
final class Tally: Sendable {
    private struct State {
        var counts: [AppendResult: Int] = [:]
        var missing: Int
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(expected: Int) { state = Mutex(State(missing: expected)) }

    func count(_ answer: AppendResult) {
        let waiter = state.withLock { state in
            state.counts[answer, default: 0] += 1
            state.missing -= 1
            return state.missing == 0 ? state.waiter : nil
        }
        waiter?.resume()
    }

    /// The number of each answer.
    func answers() async -> [AppendResult: Int] {
        await withCheckedContinuation { continuation in
            let isComplete = state.withLock { state in
                if state.missing > 0 { state.waiter = continuation }
                return state.missing == 0
            }
            if isComplete { continuation.resume() }
        }
        return state.withLock { $0.counts }
    }
}
