import BalloonPOSIX
import Dispatch
package import MessageStore
import Synchronization

/// Collects the `ReadinessFacts` of a running server.
package final class ReadinessChecks: Sendable {
    private let store: Store
    private let complete: @Sendable (inout ReadinessFacts) -> Void
    private let space = Mutex<(bytes: UInt64?, readAt: ContinuousClock.Instant)?>(nil)
    /// The queue that reads the free space, because the read may wait for a network file system, and a shard
    /// must not.
    private let queue = DispatchQueue(label: "balloon.readiness")

    /// Creates the checks of a store alone: the server counts as running, and no free space is required.
    package convenience init(store: Store) { self.init(store: store) { _ in } }

    /// Creates the checks of a server; `complete` sets the facts that the store does not know.
    init(store: Store, completing complete: @escaping @Sendable (inout ReadinessFacts) -> Void) {
        self.store = store
        self.complete = complete
    }

    /// The result of all checks now; may wait for the disk's file system.
    package var readiness: Readiness { Readiness(checks: facts.checks) }

    /// Passes the result of all checks to `body`, on a queue that may wait.
    func check(_ body: @escaping @Sendable (Readiness) -> Void) {
        queue.async { body(self.readiness) }
    }

    private var facts: ReadinessFacts {
        var facts = ReadinessFacts(statistics: store.statistics)
        facts.areDeliveriesPaused = store.isHeldUp
        facts.isOwnerInDoubt = store.isOwnerInDoubt
        facts.recentJournalFailure = store.recentSyncFailure
        facts.damage = store.journalDamage
        complete(&facts)
        if facts.minimumFreeBytes > 0 { facts.freeBytes = freeBytes }
        return facts
    }

    /// The free bytes, read at most once a second.
    private var freeBytes: UInt64? {
        space.withLock { space in
            let now = ContinuousClock.now
            if let space, now - space.readAt < .seconds(1) { return space.bytes }
            let bytes = store.freeBytes
            space = (bytes, now)
            return bytes
        }
    }
}
