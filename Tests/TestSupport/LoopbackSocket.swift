import Glibc

/// Returns a TCP socket that is bound to a free loopback port, and this port; with a `backlog` it listens.
public func loopbackSocket(backlog: Int32? = nil) -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(descriptor, pointer, length) | (backlog.map { listen(descriptor, $0) } ?? 0)
                | getsockname(descriptor, pointer, &length)
        }
    }
    precondition(status == 0, "no loopback port")
    return (descriptor, UInt16(bigEndian: address.sin_port))
}
