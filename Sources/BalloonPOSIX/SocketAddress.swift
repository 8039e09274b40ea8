import CLinux
import Glibc

/// The address of a socket: a TCP address, or the path of a unix socket.
package enum SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 literal (without brackets) and a port; for port 0 the system chooses a free port.
    case tcp(host: String, port: UInt16)
    /// The path of a unix socket, at most 107 bytes.
    case unix(path: String)

    /// Parses `HOST:PORT`, `[IPv6]:PORT`, `:PORT` (every IPv4 address) or `unix:PATH`.
    ///
    /// `localhost` means `127.0.0.1`. Returns nil for any other name: names are not resolved, so that a
    /// listener never depends on DNS.
    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst("unix:".count))
            guard !path.isEmpty, path.utf8.count <= 107 else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.isEmpty { host = "0.0.0.0" }
        if host == "localhost" { host = "127.0.0.1" }
        self = .tcp(host: host, port: port)
        guard storage != nil else { return nil }
    }

    /// The text form, as parsed by ``init(_:)``.
    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The port of a TCP address; nil for a unix socket.
    package var port: UInt16? {
        if case .tcp(_, let port) = self { port } else { nil }
    }

    /// Whether only this machine can reach the address.
    package var isLoopback: Bool {
        switch self {
        case .tcp(let host, _): host.hasPrefix("127.") || host == "::1"
        case .unix: true
        }
    }

    var family: Int32 {
        switch self {
        case .tcp(let host, _): host.contains(":") ? AF_INET6 : AF_INET
        case .unix: AF_UNIX
        }
    }

    /// The address as a kernel structure; nil when the host is not a literal.
    var storage: (address: sockaddr_storage, length: socklen_t)? {
        switch self {
        case .tcp(let host, let port) where host.contains(":"):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            guard unsafe inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return nil }
            return stored(address)
        case .tcp(let host, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard unsafe inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
            return stored(address)
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            guard bytes.count <= 107 else { return nil }
            // Sound: 107 bytes and the existing NUL fit the 108 bytes of sun_path.
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
            return stored(address)
        }
    }
}

private func stored<Address>(
    _ address: Address
) -> (address: sockaddr_storage, length: socklen_t) {
    var storage = sockaddr_storage()
    // Sound: sockaddr_storage can hold every address structure.
    unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: Address.self) }
    return (storage, socklen_t(MemoryLayout<Address>.size))
}
