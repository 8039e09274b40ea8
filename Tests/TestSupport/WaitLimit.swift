import Dispatch

/// The time limit of a wait for an event: a test whose event never comes fails and says so, instead of hanging.
///
/// It is far beyond any wait that succeeds, also on a busy machine.
public enum WaitLimit {
    /// The limit in seconds.
    public static let seconds = 300
    private static let timers = DispatchQueue(label: "test.limits")

    /// Runs `wait`; calls `expire`, which must end it, when it has not returned within the limit.
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

    /// Lives as long as its wait.
    private final class Expiry: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
