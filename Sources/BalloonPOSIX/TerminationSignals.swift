import CLinux
import Dispatch
import Glibc

/// SIGTERM and SIGINT as events: the first asks for an orderly end, the second ends the process at once.
package final class TerminationSignals {
    private let sources: [SignalSource]

    /// Takes both signals over and calls `first` on the first of either; ignores SIGPIPE.
    ///
    /// Returns when no signal can be lost any more. A second signal ends the process at once, whatever `first` waits for,
    /// with the status 128 + its number, as a process that died of it would have.
    package init(first: @escaping @Sendable () -> Void) {
        sources = Self.sources([SIGTERM, SIGINT]) { _ in first() }
    }

    /// The same, with SIGHUP, for who has something to end before the process does; `end` gets the status that tells of
    /// the signal, 128 + its number.
    package init(ending end: @escaping @Sendable (_ status: Int32) -> Void) {
        sources = Self.sources([SIGTERM, SIGINT, SIGHUP], first: end)
    }

    private static func sources(
        _ numbers: [Int32], first: @escaping @Sendable (_ status: Int32) -> Void
    ) -> [SignalSource] {
        // A peer that went away is an error of the call that wrote to it, not the end of the process.
        _ = signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "balloon.signals")
        let ending = DispatchQueue(label: "balloon.ending")
        let seen = OnceFlag()
        return numbers.map { number in
            SignalSource(number, on: queue) {
                guard seen.claim() else { ProcessEnd.exitAtOnce(128 + number) }
                // On a queue of its own: the second signal must find this one free.
                ending.async { first(128 + number) }
            }
        }
    }
}
