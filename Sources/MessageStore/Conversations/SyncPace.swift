/// How fast files are synced: no more than so many a second while messages come in, and one after the other while none do.
struct SyncPace: Sendable {
    /// How many files are synced between two looks at the clock.
    let batch: Int
    private let maximumPerSecond: Int
    /// When the last batch began, or may begin.
    private var began: ContinuousClock.Instant
    private var lastRecord: UInt64
    private var lastRecordAt: ContinuousClock.Instant
    /// Messages come in while the journal got a record within this time.
    private static let quiet = Duration.seconds(1)

    /// Begins with the last record that the journal has.
    init(maximumPerSecond: Int, lastRecord: UInt64, at now: ContinuousClock.Instant) {
        self.maximumPerSecond = max(1, maximumPerSecond)
        batch = max(1, min(20, maximumPerSecond / 10))
        self.lastRecord = lastRecord
        (began, lastRecordAt) = (now, now)
    }

    /// How long to wait after `count` files were synced.
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
