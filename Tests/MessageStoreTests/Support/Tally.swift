import MessageStore
import Synchronization
import TestSupport

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
            return state.missing == 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Waits for the expected answers, at most for ``WaitLimit``; returns how often each answer arrived.
    func answers() async -> [AppendResult: Int] {
        await WaitLimit.apply(expire: { [weak self] in self?.endWait() }) {
            await withCheckedContinuation { continuation in
                let isComplete = state.withLock { state in
                    if state.missing > 0 { state.waiter = continuation }
                    return state.missing == 0
                }
                if isComplete { continuation.resume() }
            }
        }
        return state.withLock { $0.counts }
    }

    private func endWait() { state.withLock { $0.waiter.take() }?.resume() }
}
