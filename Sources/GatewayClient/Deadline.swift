import BalloonPOSIX

/// A moment on the clock that never goes back.
struct Deadline: Sendable {
    private let nanoseconds: UInt64

    /// The moment `duration` from now.
    init(in duration: Duration) {
        let (sum, overflows) = Int(clamping: SystemClock.nanoseconds())
            .addingReportingOverflow(duration.wholeNanoseconds)
        nanoseconds = overflows ? .max : UInt64(max(0, sum))
    }

    /// What is left; zero or less when it has passed.
    var remaining: Duration {
        .nanoseconds(Int64(clamping: nanoseconds) - Int64(clamping: SystemClock.nanoseconds()))
    }
}
