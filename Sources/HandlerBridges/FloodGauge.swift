/// Tells when lines come faster than anybody reads them.
struct FloodGauge {
    private static let maximumPerSecond = 2000
    private var second: ContinuousClock.Instant
    private var count = 0

    /// Begins to count.
    init(at now: ContinuousClock.Instant = .now) { second = now }

    /// Counts a line; whether there were too many within a second.
    mutating func add(at clock: @autoclosure () -> ContinuousClock.Instant = .now) -> Bool {
        count += 1
        // The clock is asked once for so many, not for each.
        guard count % 128 == 0 else { return false }
        let now = clock()
        if now - second >= .seconds(1) {
            (second, count) = (now, 0)
            return false
        }
        return count > Self.maximumPerSecond
    }
}
