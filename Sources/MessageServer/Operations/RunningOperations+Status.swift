import BalloonPOSIX
import BusinessMessages
import MessageStore

extension RunningOperations {
    /// The ``ServerStatus`` of this server: `GET /status` on `DATA/control.sock`.
    ///
    /// It is composed outside the shard: the checks may wait for the disk, and the search for the oldest messages
    /// costs time in proportion to the conversations with unfinished messages.
    func status() async -> ServerStatus {
        let readiness = await withCheckedContinuation { checked in
            checks.check { checked.resume(returning: $0) }
        }
        var status = ServerStatus(
            version: version, uptimeSeconds: Int((ContinuousClock.now - began).components.seconds),
            checks: readiness.checks)
        let store = sender.store
        let (metrics, statistics) = (store.metrics(deadReversals: payments.deadLetters), store.statistics)
        status.businesses = await businesses(metrics)
        status.listeners = connections.counts
        status.journalBytes = Int(clamping: metrics.journalBytes)
        status.waitingBytes = statistics.waitingBytes
        status.freeBytes = metrics.freeBytes.map { Int(clamping: $0) }
        status.minimumFreeBytes = Int(clamping: configuration.store.minimumFreeBytes)
        return status
    }

    /// Returns the configured businesses, and removed ones that still have messages, replies or assigned
    /// conversations.
    private func businesses(_ metrics: StoreMetrics) async -> [ServerStatus.Business] {
        var businesses: [BusinessID: ServerStatus.Business] = [:]
        for business in registry.all {
            let handler = await HandlerStatus(business)
            var status = ServerStatus.Business(name: handler.slug, handler: handler.health)
            status.downSeconds = handler.downSeconds
            status.restarts = handler.restarts
            businesses[business.business] = status
        }
        let store = sender.store
        let assigned = store.assignedCounts
        let now = Timestamp.now()
        for id in Set(businesses.keys).union(metrics.backlogs.keys).union(assigned.keys) {
            var status =
                businesses[id] ?? ServerStatus.Business(name: id.rawValue, handler: "removed")
            let backlog = metrics.backlogs[id] ?? .init()
            (status.pending, status.outbox) = (backlog.pending, backlog.queuedReplies)
            status.deadLetters = backlog.deadLetters
            status.oldestSeconds = backlog.oldestAge(at: now).map { Int($0 / 1000) }
            status.idleDays = store.lastLine(of: id).map {
                Int(max(0, now.milliseconds - $0.milliseconds) / 86_400_000)
            }
            (status.waiting, status.person) = assigned[id] ?? (0, 0)
            businesses[id] = status
        }
        return businesses.values.sorted { $0.name < $1.name }
    }
}
