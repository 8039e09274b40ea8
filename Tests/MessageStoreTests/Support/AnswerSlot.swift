import MessageStore
import Synchronization
import TestSupport
import Testing

/// Receives the answer to an append; a second answer fails the test.
final class AnswerSlot: Sendable {
    private struct State {
        var answer: AppendResult?
        var waiter: CheckedContinuation<AppendResult, Never>?
    }

    private let state = Mutex(State())

    /// The answer, if it arrived.
    var value: AppendResult? { state.withLock { $0.answer } }

    func set(_ answer: AppendResult) {
        let waiter = state.withLock { state in
            if state.answer != nil { Issue.record("answered twice") }
            state.answer = answer
            return state.waiter
        }
        waiter?.resume(returning: answer)
    }

    /// Waits for the answer.
    ///
    /// Returns the answer of a closed store, which no test expects here, if none arrives within ``WaitLimit``.
    func answer() async -> AppendResult {
        await WaitLimit.apply(expire: { [weak self] in self?.set(.failed(.closed)) }) {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state in
                    if state.answer == nil { state.waiter = continuation }
                    return state.answer
                }
                if let answer { continuation.resume(returning: answer) }
            }
        }
    }
}
