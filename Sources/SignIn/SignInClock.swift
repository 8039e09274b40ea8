import BalloonPOSIX

/// The clocks of a client, so that a test can replace them.
package struct SignInClock: Sendable {
    /// Whole seconds since 1970, for the dates in a token.
    package let secondsSince1970: @Sendable () -> Int
    /// The time since an arbitrary moment, for the age of documents; never goes backwards.
    package let uptime: @Sendable () -> Duration

    /// The clocks of the machine.
    package static let system = SignInClock(
        secondsSince1970: { SystemClock.secondsSince1970() },
        uptime: { .milliseconds(Int64(clamping: SystemClock.coarseMilliseconds())) })
}
