import CLinux
import Glibc

extension Descriptor {
    /// Connects to `address`; a TCP connect may still be under way when this returns.
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

    /// Sends small answers at once instead of waiting for more to send (`TCP_NODELAY`); harmless on a unix socket.
    package borrowing func disableDelay() {
        // A unix socket refuses the option, and has no delay to disable.
        try? setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    /// Receives into `bytes` from its start; returns how many, 0 when the peer has finished, nil when none are there.
    @inline(__always)
    package borrowing func receive(into bytes: inout [UInt8]) throws(SystemError) -> Int? {
        let raw = raw
        // Sound: at most `count` bytes are written into the array's storage.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe recv(raw, buffer.baseAddress, buffer.count, 0)
        }
        if count >= 0 { return count }
        let error = SystemError("recv")
        if error.wouldBlock || error.code == EINTR { return nil }
        throw error
    }

    /// Sends from `bytes[offset...]`; returns how many were taken, 0 when the socket is full.
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

    /// Tells the peer that nothing more comes, and goes on receiving.
    package borrowing func finishSending() {
        // Fails only when the peer is gone already, which the next receive reports.
        _ = shutdown(raw, Int32(SHUT_WR))
    }
}
