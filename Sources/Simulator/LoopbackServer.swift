import BalloonHTTP
import BalloonPOSIX
import BalloonTLS
import Logging
import Synchronization

/// The HTTP server of a simulator, on a loopback address, because a simulator shows all received messages.
final class LoopbackServer: Sendable {
    private let running = Mutex<HTTPServer?>(nil)
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Starts serving and returns the bound address; with port 0 the system chooses the port.
    ///
    /// Throws a ``SystemError`` when the port is in use.
    func start(
        _ routes: [HTTPRoute], port: UInt16 = 0, limits: HTTPLimits = HTTPLimits(), tls: TLSCredentials? = nil
    ) async throws -> SocketAddress {
        let address = SocketAddress.tcp(host: "127.0.0.1", port: port)
        let server = try HTTPServer(
            listeners: [HTTPListener(address, routes: routes, limits: limits, tls: tls)], shards: 1,
            logger: logger)
        let bound = try await server.start()[0]
        running.withLock { $0 = server }
        return bound
    }

    /// Lets open requests finish within `grace`, then drops the remaining connections and stops.
    func stop(within grace: Duration = .seconds(1)) async {
        await running.withLock { $0.take() }?.stop(within: grace)
    }
}
