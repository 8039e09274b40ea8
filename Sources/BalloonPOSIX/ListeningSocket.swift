import CLinux
import Glibc

/// A non-blocking socket that accepts connections.
///
/// Destroying the value closes the socket and removes its unix path, unless the socket is inherited.
package struct ListeningSocket: ~Copyable, Sendable {
    /// The bound address, with the system's port when port 0 was requested.
    package let address: SocketAddress
    private let descriptor: Descriptor
    /// Whether a service manager opened the socket and keeps it open when this value is destroyed.
    package let isInherited: Bool

    /// Uses a socket that is already listening (see ``InheritedSockets``); sets its options and makes it
    /// non-blocking.
    ///
    /// Throws `EINVAL` when the descriptor is not a listening TCP or unix socket.
    package init(inherited raw: Int32) throws(SystemError) {
        let address = try inheritedAddress(raw)
        let descriptor = Descriptor(owning: raw)
        let flags = try uninterrupted("fcntl") { fcntl(raw, F_GETFL) }
        _ = try uninterrupted("fcntl") { fcntl(raw, F_SETFL, flags | O_NONBLOCK) }
        _ = try uninterrupted("fcntl") { fcntl(raw, F_SETFD, FD_CLOEXEC) }
        if case .tcp = address { try descriptor.prepareForAnswers() }
        self.address = address
        self.descriptor = descriptor
        isInherited = true
    }

    /// Opens a socket, binds it to `address`, and listens.
    ///
    /// A unix path that a dead process left behind is replaced; a path with a live server is refused with
    /// `EADDRINUSE`. Errors of `bind` and `listen` include the address.
    package init(_ address: SocketAddress, backlog: Int32 = 4096) throws(SystemError) {
        let descriptor = try Descriptor.socket(for: address)
        try descriptor.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
        if case .unix(let path) = address {
            try removeStaleSocket(path)
        } else {
            try descriptor.prepareForAnswers()
        }
        guard let (storage, length) = address.storage else { throw SystemError("inet_pton", code: EINVAL) }
        let raw = descriptor.raw
        try unsafe withSocketAddress(storage) { pointer throws(SystemError) in
            _ = try uninterrupted("bind \(address)") { unsafe Glibc.bind(raw, pointer, length) }
        }
        if case .unix(let path) = address { unsafe chmod(path, 0o600) }
        _ = try uninterrupted("listen \(address)") { listen(raw, backlog) }
        self.address = try boundAddress(raw, address)
        self.descriptor = descriptor
        isInherited = false
    }

    deinit {
        if !isInherited, case .unix(let path) = address { unsafe unlink(path) }
    }

    /// The descriptor's number, for an ``Epoll``.
    package var raw: Int32 { descriptor.raw }

    /// Accepts the next connection as a non-blocking descriptor, and stores the peer's address in `peer`.
    ///
    /// Returns nil when no connection is waiting.
    package func accept(from peer: inout PeerAddress) throws(SystemError) -> Descriptor? {
        let raw = descriptor.raw
        do throws(SystemError) {
            // Sound: the call writes 16 bytes, the size of the value.
            let accepted = try unsafe withUnsafeMutableBytes(of: &peer) { bytes throws(SystemError) in
                guard let base = bytes.baseAddress else { throw SystemError("accept4", code: EINVAL) }
                return try uninterrupted("accept4") {
                    unsafe balloon_accept_from(raw, base.assumingMemoryBound(to: UInt8.self))
                }
            }
            return Descriptor(owning: accepted)
        } catch {
            // ECONNABORTED: the peer disconnected before the accept; the next connection may be valid.
            if error.wouldBlock || error.code == ECONNABORTED { return nil }
            throw error
        }
    }
}

extension Descriptor {
    /// Sets two options that accepted connections inherit.
    ///
    /// Answers are sent without delay. The kernel buffers at most 128 KiB of unsent data for a connection, so
    /// that a slow reader is detected.
    fileprivate borrowing func prepareForAnswers() throws(SystemError) {
        try setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        try setOption(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, 131_072)
    }

    static func socket(for address: SocketAddress) throws(SystemError) -> Descriptor {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return Descriptor(owning: try uninterrupted("socket") { Glibc.socket(address.family, type, 0) })
    }

    package borrowing func setOption(_ level: Int32, _ name: Int32, _ value: Int32) throws(SystemError) {
        var value = value
        let raw = raw
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = try uninterrupted("setsockopt") { unsafe setsockopt(raw, level, name, &value, size) }
    }
}

func withSocketAddress<Result>(
    _ storage: sockaddr_storage, _ body: (UnsafePointer<sockaddr>) throws(SystemError) -> Result
) throws(SystemError) -> Result {
    var storage = storage
    // Sound: every socket address begins with the fields of sockaddr, and the call gets the actual length.
    return try unsafe withUnsafeBytes(of: &storage) { bytes throws(SystemError) -> Result in
        guard let base = bytes.baseAddress else { throw SystemError("sockaddr", code: EINVAL) }
        return try unsafe body(base.assumingMemoryBound(to: sockaddr.self))
    }
}

private func boundAddress(_ raw: Int32, _ asked: SocketAddress) throws(SystemError) -> SocketAddress {
    guard case .tcp(let host, _) = asked else { return asked }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Sound: getsockname writes at most `length` bytes of the structure.
    let status = unsafe withUnsafeMutableBytes(of: &storage) { bytes -> Int32 in
        guard let base = bytes.baseAddress else { return -1 }
        return unsafe getsockname(raw, base.assumingMemoryBound(to: sockaddr.self), &length)
    }
    guard status == 0 else { throw SystemError("getsockname") }
    // The port has the same offset in the structures of both families.
    let port = unsafe withUnsafeBytes(of: &storage) { unsafe $0.load(fromByteOffset: 2, as: UInt16.self) }
    return .tcp(host: host, port: UInt16(bigEndian: port))
}

/// Returns the address of a socket that is already listening.
private func inheritedAddress(_ raw: Int32) throws(SystemError) -> SocketAddress {
    var listens: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    // Sound: the call writes at most `size` bytes of the value.
    _ = try uninterrupted("getsockopt") { unsafe getsockopt(raw, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // Sound: getsockname writes at most `length` bytes of the structure, and inet_ntop at most those of the text. A path begins after
    // the family and ends at the first zero byte or at the structure's end (unix(7)).
    let address = unsafe withUnsafeMutableBytes(of: &storage) { bytes -> SocketAddress? in
        guard let base = bytes.baseAddress, listens != 0,
            unsafe getsockname(raw, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
        else { return nil }
        let family = Int32(unsafe base.load(as: sa_family_t.self))
        if family == AF_UNIX {
            let path = unsafe bytes.prefix(Int(length)).dropFirst(2).prefix { $0 != 0 }
            return unsafe path.isEmpty ? nil : .unix(path: String(decoding: path, as: UTF8.self))
        }
        guard family == AF_INET || family == AF_INET6 else { return nil }
        // The address follows family and port; in IPv6 the flow label is between (ip(7), ipv6(7)).
        let place = unsafe base + (family == AF_INET ? 4 : 8)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard unsafe inet_ntop(family, place, &text, socklen_t(INET6_ADDRSTRLEN)) != nil else { return nil }
        let host = text.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:))
        return .tcp(host: String(decoding: host, as: UTF8.self), port: 0)
    }
    guard let address else { throw SystemError("getsockname", code: EINVAL) }
    return try boundAddress(raw, address)
}

/// Removes the socket file at `path` when no server listens on it.
///
/// Any other file stays, so that binding fails.
private func removeStaleSocket(_ path: String) throws(SystemError) {
    guard FileStatus.isType(S_IFSOCK, path) else { return }
    do throws(SystemError) {
        _ = try Descriptor.connect(to: .unix(path: path))
    } catch {
        // Only ECONNREFUSED proves that no server listens: a busy server gives EAGAIN.
        if error.code == ECONNREFUSED { unsafe unlink(path) }
    }
}
