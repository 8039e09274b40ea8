import Synchronization

/// Pauses tasks, and ends all of their pauses at once when the store stops.
final class CancellableSleep: Sendable {
    private struct State {
        var sleepers: [UInt64: Task<Void, Never>] = [:]
        var nextNumber: UInt64 = 0
        var isOver = false
    }

    private let state = Mutex(State())

    /// Waits for `duration`; returns false when ``end()`` or a cancellation of the task ends the wait early.
    func pause(for duration: Duration) async -> Bool {
        let pause = state.withLock { state -> (number: UInt64, sleeper: Task<Void, Never>)? in
            if state.isOver { return nil }
            state.nextNumber += 1
            // A cancelled sleep throws, which ends the pause early.
            let sleeper = Task { _ = try? await Task.sleep(for: duration) }
            state.sleepers[state.nextNumber] = sleeper
            return (state.nextNumber, sleeper)
        }
        guard let (number, sleeper) = pause else { return false }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        let isOver = state.withLock { state in
            state.sleepers[number] = nil
            return state.isOver
        }
        return !isOver && !Task.isCancelled
    }

    /// Ends every pause; later pauses end at once.
    func end() {
        let sleepers = state.withLock { state in
            state.isOver = true
            return state.sleepers.values
        }
        for sleeper in sleepers { sleeper.cancel() }
    }
}
