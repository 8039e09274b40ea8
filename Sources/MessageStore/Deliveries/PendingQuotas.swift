import BusinessMessages
import Synchronization

/// The numbers of unfinished messages of each business, and their limits.
///
/// Every inbound message checks its business's limit. The check acquires the lock only while a business has
/// reached its quota.
final class PendingQuotas: Sendable {
    private struct State {
        var quotas: [BusinessID: Int] = [:]
        var regular = Int.max
        var pending: [BusinessID: Int] = [:]

        func quota(of business: BusinessID) -> Int { quotas[business] ?? regular }

        func isFull(_ business: BusinessID) -> Bool { pending[business, default: 0] >= quota(of: business) }
    }

    private let state = Mutex(State())
    /// The number of businesses that have reached their quotas.
    private let full = Atomic<Int>(0)

    /// Returns the quota of a business if the business has reached it; otherwise nil.
    func reached(by business: BusinessID) -> Int? {
        guard full.load(ordering: .relaxed) > 0 else { return nil }
        return state.withLock { $0.isFull(business) ? $0.quota(of: business) : nil }
    }

    /// Returns the quota of a business.
    func quota(of business: BusinessID) -> Int { state.withLock { $0.quota(of: business) } }

    /// Sets the quotas of some businesses, and the quota of all other businesses; each is at least 1.
    func set(_ quotas: [BusinessID: Int], others regular: Int) {
        state.withLock { state in
            state.quotas = quotas
            state.regular = regular
            full.store(state.pending.keys.count { state.isFull($0) }, ordering: .relaxed)
        }
    }

    /// The number of unfinished messages of a business.
    func count(of business: BusinessID) -> Int { state.withLock { $0.pending[business, default: 0] } }

    /// The number of unfinished messages of each business that has any.
    var counts: [BusinessID: Int] { state.withLock { $0.pending } }

    /// Counts new unfinished messages.
    func add(_ leases: [Lease]) {
        state.withLock { state in
            for lease in leases {
                let business = lease.conversation.business
                let count = state.pending[business, default: 0] + 1
                state.pending[business] = count
                if count == state.quota(of: business) { full.add(1, ordering: .relaxed) }
            }
        }
    }

    /// Counts the end of a message of a business.
    func finish(_ business: BusinessID) {
        state.withLock { state in
            guard let count = state.pending[business] else { return }
            if count == state.quota(of: business) { full.subtract(1, ordering: .relaxed) }
            state.pending[business] = count > 1 ? count - 1 : nil
        }
    }
}
