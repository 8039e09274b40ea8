import BalloonPOSIX
import RetentionMessages

extension TimeSource {
    /// Waits; throws ``RetentionAPIError/cancelled`` when the task is cancelled.
    func wait(_ time: Duration) async throws(RetentionAPIError) {
        do { try await sleep(time) } catch { throw .cancelled }
    }
}

/// Spreads the calls of each kind evenly, as Apple's limits demand.
///
/// Invariant: two calls of `setDefault` begin at least 100 ms apart, and two calls of any other kind at least
/// one second apart. In the sandbox these intervals are ten times as long.
actor CallPacer {
    private let factor: Int
    private let clock: TimeSource
    private var next: [RetentionAPI.Call: Duration] = [:]

    init(_ environment: RetentionEnvironment, clock: TimeSource) {
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
