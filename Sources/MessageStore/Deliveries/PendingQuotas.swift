import BusinessMessages
import Synchronization

/// The numbers of unfinished and of parked messages of each business, and the limits of unfinished ones.
///
/// Every inbound message checks its business's limit. The check acquires the lock only while a business has
/// reached its quota.
final class PendingQuotas: Sendable {
    private struct State {
        var quotas: [BusinessID: Int] = [:]
        var regular = Int.max
        var businesses: [BusinessID: Business] = [:]

        func quota(of business: BusinessID) -> Int { quotas[business] ?? regular }

        func count(of business: BusinessID) -> Int { businesses[business]?.pending ?? 0 }

        func isFull(_ business: BusinessID) -> Bool { count(of: business) >= quota(of: business) }
    }

    private struct Business {
        var pending = 0
        /// The unfinished messages without the parked ones.
        var backlog = Backlog()
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
            full.store(state.businesses.keys.count { state.isFull($0) }, ordering: .relaxed)
        }
    }

    /// The number of unfinished messages of a business.
    func count(of business: BusinessID) -> Int { state.withLock { $0.count(of: business) } }

    /// The number of unfinished messages of each business that has any.
    var counts: [BusinessID: Int] {
        state.withLock { $0.businesses.mapValues(\.pending).filter { $0.value > 0 } }
    }

    /// The number of parked messages.
    var parkedCount: Int {
        state.withLock { $0.businesses.values.reduce(0) { $0 + $1.pending - $1.backlog.count } }
    }

    /// Counts new unfinished messages; returns the backlog of each message's business, with the message itself.
    @discardableResult
    func add(_ leases: [Lease]) -> [Backlog] {
        state.withLock { state in
            leases.map { lease in
                let key = lease.conversation.business
                var business = state.businesses[key, default: Business()]
                business.pending += 1
                if !lease.pending.isParked { business.backlog.count += 1 }
                state.businesses[key] = business
                if business.pending == state.quota(of: key) { full.add(1, ordering: .relaxed) }
                return business.backlog
            }
        }
    }

    /// Counts a message of a business that was parked.
    func park(_ business: BusinessID) { state.withLock { $0.businesses[business]?.backlog.count -= 1 } }

    /// Counts the end of a message of a business; `now` is the time at which a handler finished it.
    func recordEnd(of business: BusinessID, wasParked: Bool, finishedAt now: UInt64?) {
        state.withLock { state in
            if state.count(of: business) == state.quota(of: business) { full.subtract(1, ordering: .relaxed) }
            state.businesses[business]?.pending -= 1
            if !wasParked { state.businesses[business]?.backlog.count -= 1 }
            if let now { state.businesses[business]?.backlog.endedAt = now }
        }
    }
}
