import CLinux
import Glibc

extension Descriptor {
    /// Starts a connection to `address`; a TCP connection may still be in progress when the call returns.
    package static func connect(to address: SocketAddress) throws(SystemError) -> Descriptor {
        let descriptor = try socket(for: address)
        guard let (storage, length) = address.storage else { throw SystemError("inet_pton", code: EINVAL) }
        let raw = descriptor.raw
        do throws(SystemError) {
            try unsafe withSocketAddress(storage) { pointer throws(SystemError) in
                _ = try uninterrupted("connect") { unsafe Glibc.connect(raw, pointer, length) }
            }
        } catch {
            guard error.code == EINPROGRESS else { throw error }
        }
        return descriptor
    }

    /// Receives into `bytes` from its start.
    ///
    /// Returns the number of bytes, 0 when the peer has closed its sending side, and nil when no bytes are
    /// available.
    @inline(__always)
    package borrowing func receive(into bytes: inout [UInt8]) throws(SystemError) -> Int? {
        let raw = raw
        // Sound: at most `count` bytes are written to the array's storage.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe recv(raw, buffer.baseAddress, buffer.count, 0)
        }
        if count >= 0 { return count }
        let error = SystemError("recv")
        if error.wouldBlock || error.code == EINTR { return nil }
        throw error
    }

    /// Sends from `bytes[offset...]`; returns the number of sent bytes, 0 when the socket is full.
    @inline(__always)
    package borrowing func send(_ bytes: [UInt8], from offset: Int = 0) throws(SystemError) -> Int {
        precondition(offset <= bytes.count)
        let raw = raw
        // Sound: the range offset..<count lies inside the array's storage.
        let count = unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(
                raw, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset, Int32(MSG_NOSIGNAL)
            )
        }
        if count >= 0 { return count }
        let error = SystemError("send")
        if error.wouldBlock || error.code == EINTR { return 0 }
        throw error
    }

    /// Closes the sending side of the connection (half-close); receiving is still possible.
    package borrowing func finishSending() {
        // The call fails only when the peer has disconnected, which the next receive reports.
        _ = shutdown(raw, Int32(SHUT_WR))
    }
}

extension Descriptor {
    /// Returns the user of the process that connected to a unix socket (`SO_PEERCRED`); nil when that is
    /// unknown.
    package borrowing func peerUser() -> UInt32? {
        var user: UInt32 = 0
        // Sound: the call writes the one value that it is given.
        return unsafe balloon_peer_user(raw, &user) == 0 ? user : nil
    }
}
