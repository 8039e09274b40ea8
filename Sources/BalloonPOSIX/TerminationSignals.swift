import CLinux
import Dispatch
import Glibc

/// The handling of SIGTERM and SIGINT: the first requests an orderly end, the second ends the process at
/// once.
package final class TerminationSignals {
    private let sources: [SignalSource]

    /// Installs handlers for SIGINT and SIGTERM, which call `first` on the first signal; ignores SIGPIPE.
    ///
    /// Returns only when both signals are handled, so that none is lost. A second signal ends the process at
    /// once, even while `first` runs. The exit status is then 128 + the signal's number, as if the signal had
    /// killed the process.
    package init(first: @escaping @Sendable () -> Void) {
        sources = Self.sources([SIGTERM, SIGINT]) { _ in first() }
    }

    /// Handles SIGINT, SIGTERM and SIGHUP for a program that must clean up before it ends.
    ///
    /// `end` receives the exit status to end with: 128 + the signal's number.
    package init(ending end: @escaping @Sendable (_ status: Int32) -> Void) {
        sources = Self.sources([SIGTERM, SIGINT, SIGHUP], first: end)
    }

    private static func sources(
        _ numbers: [Int32], first: @escaping @Sendable (_ status: Int32) -> Void
    ) -> [SignalSource] {
        // Ignore SIGPIPE, so that writing to a disconnected peer fails the call and does not end the process.
        _ = signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "balloon.signals")
        let ending = DispatchQueue(label: "balloon.ending")
        let seen = OnceFlag()
        return numbers.map { number in
            SignalSource(number, on: queue) {
                guard seen.claim() else { ProcessEnd.exitAtOnce(128 + number) }
                // Call `first` on a second queue, because `queue` must be free for the second signal.
                ending.async { first(128 + number) }
            }
        }
    }
}
