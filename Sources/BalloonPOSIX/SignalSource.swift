import Dispatch
import Glibc

/// A source that calls a closure for each arrival of one signal; once it is destroyed, the signal is ignored.
package final class SignalSource {
    private let source: any DispatchSourceSignal

    /// Handles SIGHUP, which asks a server to reload its files.
    package static func hangup(_ received: @escaping @Sendable () -> Void) -> SignalSource {
        SignalSource(SIGHUP, on: DispatchQueue(label: "balloon.hangup"), received)
    }

    /// Handles the signal `number`: calls `received` on `queue` for each arrival, or once for several in a
    /// row.
    ///
    /// Returns only after Dispatch has registered the source, because an earlier signal would be ignored.
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
