import Dispatch

/// The time limit of a wait for an event, so that a test whose event never occurs fails with a message
/// instead of hanging.
///
/// The limit is far longer than any wait that succeeds, even on a busy machine.
public enum WaitLimit {
    /// The limit in seconds.
    public static let seconds = 300
    private static let timers = DispatchQueue(label: "test.limits")

    /// Runs `wait`; when it has not returned within the limit, calls `expire`, which must end the wait.
    ///
    /// The timer is Dispatch's, so that it expires even when every thread for tasks is blocked.
    public static func apply<Result>(
        expire: @escaping @Sendable () -> Void, to wait: () async -> Result
    ) async -> Result {
        let expiry = Expiry(expire)
        timers.asyncAfter(deadline: .now() + .seconds(seconds)) { [weak expiry] in expiry?.body() }
        defer { withExtendedLifetime(expiry) {} }
        return await wait()
    }

    /// The function to call at the limit; it exists as long as the wait.
    private final class Expiry: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
