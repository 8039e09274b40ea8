import CLinux
import Dispatch
import Glibc

/// SIGTERM and SIGINT as events: the first asks for an orderly end, the second ends the process at once.
package final class TerminationSignals {
    private let sources: [any DispatchSourceSignal]

    /// Takes both signals over and calls `first` on the first of either; ignores SIGPIPE.
    ///
    /// Returns when no signal can be lost any more: until Dispatch has registered a source, its signal is ignored.
    /// A second signal exits with 128 + its number, as a process that died of it would.
    package init(first: @escaping @Sendable () -> Void) {
        // A peer that went away is an error of the call that wrote to it, not the end of the process.
        _ = signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "balloon.signals")
        let seen = FirstTime()
        let registered = DispatchGroup()
        sources = [SIGTERM, SIGINT].map { number in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { @Sendable in
                if seen.take() { first() } else { exit(128 + number) }
            }
            registered.enter()
            source.setRegistrationHandler { @Sendable in registered.leave() }
            source.resume()
            return source
        }
        registered.wait()
    }

    deinit { for source in sources { source.cancel() } }
}
