import Dispatch
import Glibc

/// One signal as an event, for as long as the value lives; after that it is ignored.
package final class SignalSource {
    private let source: any DispatchSourceSignal

    /// Takes SIGHUP over, which asks a server to read its files again.
    package static func hangup(_ received: @escaping @Sendable () -> Void) -> SignalSource {
        SignalSource(SIGHUP, on: DispatchQueue(label: "balloon.hangup"), received)
    }

    /// Takes `number` over and calls `received` on `queue` for each signal; several at once may be one.
    ///
    /// Returns when no signal can be lost any more: until Dispatch has registered a source, its signal is ignored.
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
