import BalloonPOSIX
import Dispatch
package import Logging
import Synchronization

/// Reports to the service manager that the server makes progress; the reports stop when a part hangs.
///
/// The watchdog asks every part twice in each watchdog interval of the manager, and reports as soon as all
/// parts have answered. A part that hangs for longer than half of the interval makes the manager restart the
/// server.
package final class Watchdog: Sendable {
    /// A part of the server that must make progress.
    package struct Check: Sendable {
        /// The name for the log.
        package let name: String
        /// Asks the part, which calls the closure once when it has completed its current work.
        package let ask: @Sendable (@escaping @Sendable () -> Void) -> Void
    }

    private struct State {
        /// The checks that have not answered, by their index.
        var waiting: Set<Int> = []
        /// Whether the current hang has been logged.
        var isReported = false
        var hasEnded = false
    }

    private let checks: [Check]
    private let interval: Duration
    private let logger: Logger
    private let report: @Sendable () -> Void
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "balloon.watchdog")

    /// Creates a watchdog; `report` tells the manager that the server makes progress.
    package init(
        _ checks: [Check], interval: Duration, logger: Logger, report: @escaping @Sendable () -> Void
    ) {
        self.checks = checks
        self.interval = interval
        self.logger = logger
        self.report = report
    }

    /// Asks now, and then twice in each interval until ``end()``.
    package func begin() { queue.async { self.turn() } }

    /// Stops asking the parts.
    package func end() { state.withLock { $0.hasEnded = true } }

    private func turn() {
        if state.withLock({ $0.hasEnded }) { return }
        ask()
        queue.asyncAfter(deadline: .now() + (interval / 2).dispatchInterval) { [weak self] in self?.turn() }
    }

    /// Asks every part; while a part has not answered the last question, asks none and logs the hang once.
    func ask() {
        let (hung, isNew) = state.withLock { state -> ([String], Bool) in
            guard state.waiting.isEmpty else {
                defer { state.isReported = true }
                return (state.waiting.sorted().map { checks[$0].name }, !state.isReported)
            }
            state.waiting = Set(checks.indices)
            return ([], false)
        }
        guard hung.isEmpty else {
            guard isNew else { return }
            return logger.error(
                "server makes no progress; the service manager will restart it",
                metadata: ["parts": "\(hung.joined(separator: ", "))"])
        }
        for (index, check) in checks.enumerated() { check.ask { self.answered(index) } }
    }

    private func answered(_ index: Int) {
        let isComplete = state.withLock { state in
            guard state.waiting.remove(index) != nil, state.waiting.isEmpty else { return false }
            state.isReported = false
            return true
        }
        if isComplete { report() }
    }
}

/// Asks the service manager for more time while the start advances.
final class StartExtension: Sendable {
    /// The time for the next part of a recovery; equal to `TimeoutStartSec` of the systemd unit.
    static let time = Duration.seconds(90)
    /// The minimum time between two requests.
    static let interval = Duration.seconds(5)

    private let last = Mutex<ContinuousClock.Instant?>(nil)
    private let extend: @Sendable (Duration) -> Void

    /// Creates an extension; `extend` asks the manager.
    init(extend: @escaping @Sendable (Duration) -> Void) { self.extend = extend }

    /// Asks for ``time`` from now, at most once in ``interval``; called after each part of a recovery.
    func advance(at now: ContinuousClock.Instant = .now) {
        let isDue = last.withLock { last in
            if let last, now - last < Self.interval { return false }
            last = now
            return true
        }
        if isDue { extend(Self.time) }
    }
}
