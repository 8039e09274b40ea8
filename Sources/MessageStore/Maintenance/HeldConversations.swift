import Synchronization

/// The journal's damage found at the start, and the deliveries held back because of it.
final class HeldConversations: Sendable {
    private struct State {
        var damage: JournalDamage
        /// The leased deliveries that are held back.
        var leases: [Lease] = []
    }

    private let state: Mutex<State>

    init(_ damage: JournalDamage) { state = Mutex(State(damage: damage)) }

    /// The damage.
    var damage: JournalDamage { state.withLock { $0.damage } }

    /// Holds the lease of an affected conversation; returns whether it is held.
    func keeps(_ lease: Lease) -> Bool {
        state.withLock { state in
            guard state.damage.held.contains(lease.conversation) else { return false }
            state.leases.append(lease)
            return true
        }
    }

    /// Clears the damage; returns the held leases.
    func release() -> [Lease] {
        state.withLock { state in
            defer { state = State(damage: JournalDamage()) }
            return state.leases
        }
    }
}
