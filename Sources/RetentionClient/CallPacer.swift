import BalloonPOSIX
import RetentionMessages

/// The clock by which calls wait, so that a test can replace it.
package struct RetentionClock: Sendable {
    /// Milliseconds since 1970.
    package let milliseconds: @Sendable () -> Int
    /// The time since an arbitrary moment; never goes backwards.
    package let uptime: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void

    /// The clock of the machine.
    package static let system = RetentionClock(
        milliseconds: { Int(Timestamp.now().milliseconds) },
        uptime: { .nanoseconds(Int64(clamping: SystemClock.nanoseconds())) },
        sleep: { try await Task.sleep(for: $0) })

    /// Waits; throws ``RetentionAPIError/cancelled`` when the task is cancelled.
    package func wait(_ time: Duration) async throws(RetentionAPIError) {
        do { try await sleep(time) } catch { throw .cancelled }
    }
}

/// Spreads the calls of each kind evenly, as Apple's limits demand.
///
/// Invariant: two calls of `setDefault` begin at least 100 ms apart, and two calls of any other kind at least
/// one second apart. In the sandbox these intervals are ten times as long.
actor CallPacer {
    private let factor: Int
    private let clock: RetentionClock
    private var next: [RetentionAPI.Call: Duration] = [:]

    init(_ environment: RetentionEnvironment, clock: RetentionClock) {
        factor = environment == .sandbox ? 10 : 1
        self.clock = clock
    }

    /// The time between the beginnings of two calls of this kind.
    nonisolated func interval(of call: RetentionAPI.Call) -> Duration {
        .milliseconds((call == .setDefault ? 100 : 1000) * factor)
    }

    /// Waits until a call of this kind may begin.
    func wait(for call: RetentionAPI.Call) async throws(RetentionAPIError) {
        let now = clock.uptime()
        let turn = max(now, next[call] ?? now)
        next[call] = turn + interval(of: call)
        if turn > now { try await clock.wait(turn - now) }
    }
}
