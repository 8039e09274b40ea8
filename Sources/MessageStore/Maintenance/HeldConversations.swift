import Synchronization

/// The journal's damage found at the start, and the deliveries held back because of it.
final class HeldConversations: Sendable {
    private struct State {
        var damage: JournalDamage
        /// The leased deliveries that are held back until a repair.
        var leases: [Lease] = []
    }

    private let state: Mutex<State>

    init(_ damage: JournalDamage) { state = Mutex(State(damage: damage)) }

    /// The damage found at the start; empty after a repair.
    var damage: JournalDamage { state.withLock { $0.damage } }

    /// Keeps a lease from its caller when the damage affects the conversation; returns whether the lease is
    /// held back.
    func keeps(_ lease: Lease) -> Bool {
        state.withLock { state in
            guard state.damage.held.contains(lease.conversation) else { return false }
            state.leases.append(lease)
            return true
        }
    }

    /// Clears the damage, and returns the leases that were held back.
    func release() -> [Lease] {
        state.withLock { state in
            defer { state = State(damage: JournalDamage()) }
            return state.leases
        }
    }
}
