import Synchronization

/// The damage of the journal that a store found when it opened, and the deliveries that are held back for it.
final class HeldConversations: Sendable {
    private struct State {
        var damage: JournalDamage
        /// The deliveries that were leased and are not handed out.
        var leases: [Lease] = []
    }

    private let state: Mutex<State>

    init(_ damage: JournalDamage) { state = Mutex(State(damage: damage)) }

    /// What is damaged.
    var damage: JournalDamage { state.withLock { $0.damage } }

    /// Keeps the lease of a conversation that is held back; whether it is one.
    func keeps(_ lease: Lease) -> Bool {
        state.withLock { state in
            guard state.damage.held.contains(lease.conversation) else { return false }
            state.leases.append(lease)
            return true
        }
    }

    /// Forgets the damage; returns the leases that were kept.
    func release() -> [Lease] {
        state.withLock { state in
            defer { state = State(damage: JournalDamage()) }
            return state.leases
        }
    }
}
