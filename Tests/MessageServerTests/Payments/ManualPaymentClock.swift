import BalloonPOSIX
import Synchronization
import TestSupport

@testable import MessageServer

/// Clocks that stand still until a test turns them.
final class ManualPaymentClock: Sendable {
    private struct State {
        var elapsed = Duration.zero
        /// How far the time of day was set ahead.
        var ahead = Duration.zero
        var next = 0
        var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
    }

    private let state = Mutex(State())
    private let start = Timestamp.now()
    private let steadyStart = ContinuousClock.now

    var clock: PaymentClock {
        PaymentClock(
            now: { [self] in start.advanced(by: state.withLock { $0.elapsed + $0.ahead }) },
            steady: { [self] in steadyStart + state.withLock(\.elapsed) },
            sleep: { [self] in try await wait(for: $0) })
    }

    /// The waits that have not ended, in their order: the rest of each.
    var rests: [Duration] {
        state.withLock { state in state.sleepers.values.map { $0.until - state.elapsed }.sorted() }
    }

    /// Whether a wait has about this rest, which may have a rounded factor.
    func waits(about rest: Duration) -> Bool { rests.contains { $0 > rest * 0.9 && $0 < rest * 1.1 } }

    /// Turns the clock, and ends the waits that are over.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.elapsed += duration
            let due = state.sleepers.filter { $0.value.until <= state.elapsed }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Sets the time of day ahead; no wait ends by it.
    func setAhead(by duration: Duration) { state.withLock { $0.ahead += duration } }

    private func wait(for duration: Duration) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.sleepers[id] = (state.elapsed + duration, continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(
                throwing: CancellationError())
        }
    }
}
