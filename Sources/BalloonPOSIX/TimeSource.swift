/// The clocks that a part reads and waits by, so that a test can replace them.
package struct TimeSource: Sendable {
    /// Milliseconds since 1970.
    package let milliseconds: @Sendable () -> Int
    /// The time since an arbitrary moment; never goes backwards.
    package let uptime: @Sendable () -> Duration
    /// Waits; throws when the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// Creates the clocks of a test.
    package init(
        milliseconds: @escaping @Sendable () -> Int, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.milliseconds, self.uptime, self.sleep) = (milliseconds, uptime, sleep)
    }

    /// The clocks of the machine.
    package static let system = TimeSource(
        milliseconds: { Int(Timestamp.now().milliseconds) },
        uptime: { .nanoseconds(Int64(clamping: SystemClock.nanoseconds())) })
}
