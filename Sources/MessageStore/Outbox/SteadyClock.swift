package import BalloonPOSIX

/// A clock for pauses: it starts at the wall clock's time, and ignores later changes of that clock.
package enum SteadyClock {
    /// The first time, plus 1 ms, so that a pause that has just ended is never in the future.
    private static let start = (
        time: Timestamp.now().advanced(by: .milliseconds(1)), nanoseconds: SystemClock.nanoseconds(),
        instant: ContinuousClock.now
    )

    /// The current time.
    package static func now() -> Timestamp {
        start.time.advanced(by: .nanoseconds(Int64(SystemClock.nanoseconds() - start.nanoseconds)))
    }

    /// The time by which kept data expires: that of the wall clock, or the start plus the time since, if that is earlier.
    ///
    /// A wall clock that is set forward while the process runs therefore removes nothing.
    package static func forExpiry(_ wall: Timestamp = .now()) -> Timestamp {
        min(wall, start.time.advanced(by: start.instant.duration(to: .now)))
    }
}
