/// A line counter that detects when more lines arrive per second than the server should process.
struct FloodGauge {
    private static let maximumPerSecond = 2000
    private var second: ContinuousClock.Instant
    private var count = 0

    /// Starts counting.
    init(at now: ContinuousClock.Instant = .now) { second = now }

    /// Counts a line; returns whether the limit for one second is exceeded.
    mutating func add(at clock: @autoclosure () -> ContinuousClock.Instant = .now) -> Bool {
        count += 1
        // Read the clock for every 128th line only.
        guard count % 128 == 0 else { return false }
        let now = clock()
        if now - second >= .seconds(1) {
            (second, count) = (now, 0)
            return false
        }
        return count > Self.maximumPerSecond
    }
}
