/// The rate of syncs: limited per second while messages arrive, unlimited otherwise.
struct SyncPace: Sendable {
    /// The number of files that are synced before the clock is read again.
    let batch: Int
    private let maximumPerSecond: Int
    /// The time at which the current batch may start; in the future during a pause.
    private var began: ContinuousClock.Instant
    private var lastRecord: UInt64
    private var lastRecordAt: ContinuousClock.Instant
    /// Messages count as arriving when the journal got a record within this time.
    private static let quiet = Duration.seconds(1)

    /// Begins at `now`; `lastRecord` is the journal's last record at that time.
    init(maximumPerSecond: Int, lastRecord: UInt64, at now: ContinuousClock.Instant) {
        self.maximumPerSecond = max(1, maximumPerSecond)
        batch = max(1, min(20, maximumPerSecond / 10))
        self.lastRecord = lastRecord
        (began, lastRecordAt) = (now, now)
    }

    /// Returns how long to wait after `count` files were synced; zero while no messages arrive.
    mutating func pause(behind count: Int, lastRecord: UInt64, at now: ContinuousClock.Instant) -> Duration {
        if lastRecord != self.lastRecord {
            self.lastRecord = lastRecord
            lastRecordAt = now
        }
        let isBusy = now - lastRecordAt < Self.quiet
        let due = began + .seconds(1) * count / maximumPerSecond
        began = isBusy ? max(now, due) : now
        return began - now
    }
}
