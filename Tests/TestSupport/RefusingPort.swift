import Glibc

/// A loopback port that refuses connections and stays reserved as long as this value exists.
public final class RefusingPort: Sendable {
    /// The port.
    public let number: UInt16
    private let descriptor: Int32

    /// Binds a port without listening on it.
    public init() {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) | getsockname(descriptor, pointer, &length)
            }
        }
        precondition(status == 0, "no loopback port")
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// The address `http://127.0.0.1:PORT`.
    public var origin: String { "http://127.0.0.1:\(number)" }
}
