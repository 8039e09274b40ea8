import BalloonPOSIX
import Synchronization

/// A bounded number of permits; the longest-waiting task gets the next free one.
///
/// Invariant: a permit is granted only while fewer permits are held than ``resize(to:)`` allows. Lowering the
/// number revokes no permit. A task whose wait is cancelled has no permit. After ``close()`` no task gets
/// one.
///
/// Unlike ``FairSlots``, a semaphore does not divide its permits among businesses, and acquiring a free
/// permit costs one lock. It limits, for example, the deliveries of one business in flight and the calls of
/// its handler.
final class AsyncSemaphore: Sendable {
    private struct State {
        var count: Int
        /// Below zero while more permits are held than a lowered count allows.
        var free: Int
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// The tickets of waiting tasks in the order of arrival; tickets of cancelled tasks are skipped.
        var order = Deque<Int>()
        var nextTicket = 0
        var isClosed = false

        mutating func nextWaiting() -> CheckedContinuation<Bool, Never>? {
            while let ticket = order.popFirst() {
                if let next = waiting.removeValue(forKey: ticket) { return next }
            }
            return nil
        }
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(count: max(1, count), free: max(1, count))) }

    /// How many permits are held.
    var heldCount: Int { state.withLock { $0.count - $0.free } }

    /// Changes the number of permits; permits that are held stay held.
    func resize(to count: Int) {
        let ready = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
            state.free += max(1, count) - state.count
            state.count = max(1, count)
            var ready: [CheckedContinuation<Bool, Never>] = []
            while state.free > 0, let next = state.nextWaiting() {
                state.free -= 1
                ready.append(next)
            }
            return ready
        }
        for waiter in ready { waiter.resume(returning: true) }
    }

    /// Closes the semaphore: `acquire()` returns false for all waiting tasks and every later one.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { (state.waiting, state.order) = ([:], Deque()) }
            return state.waiting.values
        }
        for waiter in waiting { waiter.resume(returning: false) }
    }

    /// Acquires a permit, waiting if none is free; returns false when the task is cancelled first or the
    /// semaphore is closed.
    func acquire() async -> Bool {
        let ticket = state.withLock { state -> Int? in
            if state.free > 0, !state.isClosed, !Task.isCancelled {
                state.free -= 1
                return nil
            }
            state.nextTicket += 1
            return state.nextTicket
        }
        guard let ticket else { return true }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if Task.isCancelled || state.isClosed { return false }
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

    /// Releases a permit.
    func release() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if state.free >= 0, let next = state.nextWaiting() { return next }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }
}
