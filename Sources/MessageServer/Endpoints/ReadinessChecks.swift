import BalloonPOSIX
import Dispatch
package import MessageStore
import Synchronization

/// Collects the `ReadinessFacts` of a running server.
package final class ReadinessChecks: Sendable {
    private let store: Store
    private let settings: @Sendable () -> StoreSettings
    private let phase: @Sendable () -> ReadinessFacts.Phase
    private let pauses: @Sendable () -> [GatewayHealth.Report]
    private let unexplainedRefusals: @Sendable () -> GatewayHealth.UnexplainedRefusals?
    private let handlersDown: @Sendable () -> Int
    private let space = Mutex<(bytes: UInt64?, readAt: ContinuousClock.Instant)?>(nil)
    /// The queue that reads the free space, because the read may wait for a network file system, and a shard
    /// must not.
    private let queue = DispatchQueue(label: "balloon.readiness")

    /// Creates the checks of a store alone: the server counts as running, and no free space is required.
    package convenience init(store: Store) {
        self.init(
            store: store,
            settings: {
                var settings = StoreSettings()
                settings.minimumFreeBytes = 0
                return settings
            })
    }

    init(
        store: Store, settings: @escaping @Sendable () -> StoreSettings,
        phase: @escaping @Sendable () -> ReadinessFacts.Phase = { .running },
        pauses: @escaping @Sendable () -> [GatewayHealth.Report] = { [] },
        unexplainedRefusals: @escaping @Sendable () -> GatewayHealth.UnexplainedRefusals? = { nil },
        handlersDown: @escaping @Sendable () -> Int = { 0 }
    ) {
        self.store = store
        self.settings = settings
        self.phase = phase
        self.pauses = pauses
        self.unexplainedRefusals = unexplainedRefusals
        self.handlersDown = handlersDown
    }

    /// The result of all checks now; may wait for the disk's file system.
    package var readiness: Readiness { Readiness(checks: facts.checks) }

    /// Passes the result of all checks to `body`, on a queue that may wait.
    func check(_ body: @escaping @Sendable (Readiness) -> Void) {
        queue.async { body(self.readiness) }
    }

    private var facts: ReadinessFacts {
        var facts = ReadinessFacts(statistics: store.statistics)
        facts.phase = phase()
        facts.areDeliveriesPaused = store.isHeldUp
        facts.hasRecentJournalFailure = store.hasRecentSyncFailure
        facts.damage = store.journalDamage
        let settings = settings()
        facts.minimumFreeBytes = settings.minimumFreeBytes
        if facts.minimumFreeBytes > 0 { facts.freeBytes = freeBytes }
        facts.maximumPendingDeliveries = settings.maximumPendingDeliveries
        facts.pauses = pauses()
        facts.unexplainedRefusals = unexplainedRefusals()
        facts.handlersDown = handlersDown()
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
