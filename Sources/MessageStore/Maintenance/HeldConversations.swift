import BusinessMessages
import Synchronization

/// The deliveries that are held back: those of damaged conversations, and those of customers who are being
/// erased.
final class HeldConversations: Sendable {
    private struct State {
        /// The journal's damage found at the start.
        var damage: JournalDamage
        /// The customers of the erasure that runs.
        var erased: Set<CustomerID> = []
        /// The leased deliveries that are held back until a repair, or the end of the erasure.
        var leases: [Lease] = []

        func holds(_ key: ConversationKey) -> Bool {
            damage.held.contains(key) || erased.contains(key.customer)
        }
    }

    private let state: Mutex<State>

    init(_ damage: JournalDamage) { state = Mutex(State(damage: damage)) }

    /// The damage found at the start; empty after a repair.
    var damage: JournalDamage { state.withLock { $0.damage } }

    /// Keeps a lease from its caller when its conversation is held; returns whether the lease is held back.
    func keeps(_ lease: Lease) -> Bool {
        state.withLock { state in
            guard state.holds(lease.conversation) else { return false }
            state.leases.append(lease)
            return true
        }
    }

    /// Returns whether the delivery of this record is held back, so that no handler has it.
    func holds(_ record: UInt64) -> Bool {
        state.withLock { $0.leases.contains { $0.pending.record == record } }
    }

    /// Clears the damage, and returns the leases that need not be held back any longer.
    func endDamage() -> [Lease] { release { $0.damage = JournalDamage() } }

    /// Holds back all further deliveries of these customers: a handler would see what is being erased.
    func beginErasure(of customers: Set<CustomerID>) { state.withLock { $0.erased.formUnion(customers) } }

    /// Ends the erasure, and returns the leases that need not be held back any longer.
    func endErasure() -> [Lease] { release { $0.erased = [] } }

    private func release(_ change: (inout State) -> Void) -> [Lease] {
        state.withLock { state in
            change(&state)
            let leases = state.leases
            state.leases = leases.filter { state.holds($0.conversation) }
            return leases.filter { !state.holds($0.conversation) }
        }
    }
}
