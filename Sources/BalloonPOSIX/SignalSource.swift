import Dispatch
import Glibc

/// Delivers one signal as an event during the value's lifetime; afterwards the signal is ignored.
package final class SignalSource {
    private let source: any DispatchSourceSignal

    /// Handles SIGHUP, which asks a server to reload its files.
    package static func hangup(_ received: @escaping @Sendable () -> Void) -> SignalSource {
        SignalSource(SIGHUP, on: DispatchQueue(label: "balloon.hangup"), received)
    }

    /// Handles `number` and calls `received` on `queue` for each signal; several at once may be merged.
    ///
    /// Returns only after Dispatch has registered the source, because a signal before that would be ignored.
    init(_ number: Int32, on queue: DispatchQueue, _ received: @escaping @Sendable () -> Void) {
        _ = signal(number, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        let registered = DispatchGroup()
        registered.enter()
        source.setEventHandler { @Sendable in received() }
        source.setRegistrationHandler { @Sendable in registered.leave() }
        source.resume()
        registered.wait()
    }

    deinit { source.cancel() }
}
