/// Tells when lines come faster than anybody reads them.
struct FloodGauge {
    private static let maximumPerSecond = 2000
    private var second = ContinuousClock.now
    private var count = 0

    /// Counts a line; whether there were too many within a second.
    mutating func add() -> Bool {
        count += 1
        // The clock is asked once for so many, not for each.
        guard count % 128 == 0 else { return false }
        let now = ContinuousClock.now
        if now - second >= .seconds(1) {
            (second, count) = (now, 0)
            return false
        }
        return count > Self.maximumPerSecond
    }
}
