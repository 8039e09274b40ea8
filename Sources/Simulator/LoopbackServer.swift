import BalloonHTTP
import BalloonPOSIX
import BalloonTLS
import Logging
import Synchronization

/// The HTTP server of a simulator, on a loopback address.
final class LoopbackServer: Sendable {
    private let running = Mutex<HTTPServer?>(nil)
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Starts serving and returns the bound address; with port 0 the system chooses the port.
    ///
    /// Throws ``SimulatorError/addressNotLoopback``, or a ``SystemError`` when the address is in use.
    func start(
        at address: SocketAddress = .tcp(host: "127.0.0.1", port: 0), _ routes: [HTTPRoute],
        limits: HTTPLimits = HTTPLimits(), tls: TLSCredentials? = nil
    ) async throws -> SocketAddress {
        guard address.isLoopback else { throw SimulatorError.addressNotLoopback }
        let server = try HTTPServer(
            listeners: [HTTPListener(address, routes: routes, limits: limits, tls: tls)], shards: 1,
            logger: logger)
        let bound = try await server.start()[0]
        running.withLock { $0 = server }
        return bound
    }

    /// Lets open requests finish within `grace`, then drops the remaining connections and stops.
    func stop(within grace: Duration) async { await running.withLock { $0.take() }?.stop(within: grace) }
}
