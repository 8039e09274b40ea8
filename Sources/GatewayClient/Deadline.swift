import BalloonPOSIX

/// A moment on the clock that never goes back.
struct Deadline: Sendable {
    private let nanoseconds: UInt64

    /// The moment `duration` from now.
    init(in duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let now = SystemClock.nanoseconds()
        let wanted = Double(now) + Double(seconds) * 1e9 + Double(attoseconds) / 1e9
        nanoseconds = wanted <= 0 ? 0 : UInt64(exactly: wanted.rounded()) ?? .max
    }

    /// What is left; zero or less when it has passed.
    var remaining: Duration {
        .nanoseconds(Int64(clamping: nanoseconds) - Int64(clamping: SystemClock.nanoseconds()))
    }
}
