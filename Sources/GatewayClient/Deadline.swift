import BalloonPOSIX

/// An instant on the monotonic clock.
struct Deadline: Sendable {
    private let nanoseconds: UInt64

    /// Creates the deadline that is `duration` from now.
    init(in duration: Duration) {
        let (sum, overflows) = Int(clamping: SystemClock.nanoseconds())
            .addingReportingOverflow(duration.wholeNanoseconds)
        nanoseconds = overflows ? .max : UInt64(max(0, sum))
    }

    /// The time until the deadline; zero or negative after it.
    var remaining: Duration {
        .nanoseconds(Int64(clamping: nanoseconds) - Int64(clamping: SystemClock.nanoseconds()))
    }
}
