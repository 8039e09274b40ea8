import ArgumentParser
import BalloonPOSIX

/// An argument of the form `HOST:PORT` with an IP address, or `unix:PATH`.
extension SocketAddress: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

extension SocketAddress {
    /// The base URL under which this machine reaches the address; nil for a unix socket.
    ///
    /// An address of all interfaces is replaced with the loopback address.
    var localURL: String? {
        guard case .tcp(let host, let port) = self else { return nil }
        let reachable = ["0.0.0.0": "127.0.0.1", "::": "::1"][host] ?? host
        return "http://\(SocketAddress.tcp(host: reachable, port: port))"
    }
}
