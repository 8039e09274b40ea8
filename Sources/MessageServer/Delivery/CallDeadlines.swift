import BalloonPOSIX
import Dispatch
import Synchronization

/// The deadlines of calls in flight, with one Dispatch timer for all of them.
///
/// Invariant: `expire` is called once, unless the call's ticket is removed first. Removing the ticket also
/// removes the entry of the deadline.
///
/// A Dispatch timer for each call would stay in Dispatch's heap until its deadline, long after its call has
/// ended. `DeadlineThread`, which needs a thread for each deadline, is for the few deadlines that nothing may
/// delay, such as that of a server's stop.
final class CallDeadlines: Sendable {
    private struct State {
        var pending: [UInt64: (due: UInt64, expire: @Sendable () -> Void)] = [:]
        /// Tickets of calls whose deadline has not been added, and which have not ended.
        var unadded: Set<UInt64> = []
        var nextTicket: UInt64 = 0
        /// The time of the earliest scheduled timer event; `.max` while no deadline is pending.
        var armedFor = UInt64.max
    }

    private let state = Mutex(State())

    /// Returns a ticket for a call that is about to start.
    func nextTicket() -> UInt64 {
        state.withLock { state in
            state.nextTicket += 1
            state.unadded.insert(state.nextTicket)
            return state.nextTicket
        }
    }

    /// Calls `expire` after `time`, unless ``remove(_:)`` is called for the ticket first, even before `add`
    /// is called.
    func add(_ ticket: UInt64, after time: Duration, _ expire: @escaping @Sendable () -> Void) {
        let due = SystemClock.nanoseconds() + UInt64(max(0, time.wholeNanoseconds))
        let mustArm = state.withLock { state in
            // The call may have ended already.
            guard state.unadded.remove(ticket) != nil else { return false }
            state.pending[ticket] = (due, expire)
            guard due < state.armedFor else { return false }
            state.armedFor = due
            return true
        }
        if mustArm { arm(for: due) }
    }

    /// Removes the deadline of an ended call.
    func remove(_ ticket: UInt64) {
        state.withLock { state in
            // An expired deadline is in neither.
            if state.pending.removeValue(forKey: ticket) == nil { state.unadded.remove(ticket) }
        }
    }

    private func arm(for due: UInt64) {
        DispatchQueue.global().asyncAfter(deadline: DispatchTime(uptimeNanoseconds: due)) { self.fire() }
    }

    /// Expires the deadlines that are due at `now`, in their order.
    func fire(at now: UInt64 = SystemClock.nanoseconds()) {
        let (expired, next) = state.withLock { state in
            let expired = state.pending.filter { $0.value.due <= now }.sorted { $0.value.due < $1.value.due }
            for (ticket, _) in expired { state.pending[ticket] = nil }
            let next = state.pending.values.map(\.due).min()
            state.armedFor = next ?? .max
            return (expired.map(\.value.expire), next)
        }
        for expire in expired { expire() }
        if let next { arm(for: next) }
    }
}
