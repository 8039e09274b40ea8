import BalloonPOSIX
import ServerTestSupport
import Synchronization

@testable import MessageServer

/// A clock that a test turns.
final class TurnedClock: Sendable {
    private let passed = Mutex(0)

    /// Moves both clocks forward by milliseconds.
    func turn(by milliseconds: Int) { passed.withLock { $0 += milliseconds } }

    var clock: TimeSource {
        TimeSource(
            milliseconds: { AppUnderTest.now + self.passed.withLock { $0 } },
            uptime: { .milliseconds(self.passed.withLock { $0 }) })
    }
}
