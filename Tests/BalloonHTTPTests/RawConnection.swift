import BalloonPOSIX
import Glibc

/// A blocking client that sends and receives raw bytes; fails after a minute without a byte.
final class RawConnection {
    private let descriptor: Descriptor
    private var received: [UInt8] = []
    private var piece = [UInt8](repeating: 0, count: 65536)

    init(_ address: SocketAddress) throws {
        descriptor = try Descriptor.connect(to: address)
        var writable = pollfd(fd: descriptor.raw, events: Int16(POLLOUT), revents: 0)
        poll(&writable, 1, 60_000)
        _ = fcntl(descriptor.raw, F_SETFL, 0)
        // A unix socket refuses the option, and has no delay to disable.
        try? descriptor.setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        var wait = timeval(tv_sec: 60, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor.raw, SOL_SOCKET, SO_RCVTIMEO, &wait, size)
        setsockopt(descriptor.raw, SOL_SOCKET, SO_SNDTIMEO, &wait, size)
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = try descriptor.send(bytes, from: sent)
            // The time limit of a minute has passed.
            if count == 0 { throw SystemError("send", code: ETIMEDOUT) }
            sent += count
        }
    }

    /// Sends as much as possible within a moment; returns the number of sent bytes, possibly 0.
    func sendWithoutWaiting(_ text: String) -> Int {
        var writable = pollfd(fd: descriptor.raw, events: Int16(POLLOUT), revents: 0)
        guard poll(&writable, 1, 300) == 1 else { return 0 }
        let bytes = Array(text.utf8)
        return max(
            0, Glibc.send(descriptor.raw, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)))
    }

    /// Whether unread bytes have arrived.
    var hasAnswer: Bool {
        var readable = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        return poll(&readable, 1, 0) == 1
    }

    /// Half-closes the connection: sends no more, and continues to receive.
    func finishSending() { descriptor.finishSending() }

    /// Minimizes the kernel's receive buffer, so that the server soon has to wait.
    func receiveSlowly() throws { try descriptor.setOption(SOL_SOCKET, SO_RCVBUF, 65536) }

    /// Resets the connection when it closes, instead of finishing it.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor.raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// The next answer with its body, by `Content-Length` or chunks; nil when the server has finished.
    func answer(hasBody: Bool = true) throws -> Answer? {
        guard let end = try receive(until: { ends(of: $0, crlfcrlf) }) else { return nil }
        let header = String(decoding: received[..<end], as: UTF8.self)
        received.removeFirst(end)
        var answer = Answer(header: header)
        guard hasBody else { return answer }
        if let length = answer.field("Content-Length").flatMap({ Int($0) }) {
            guard try receive(until: { $0.count >= length ? length : nil }) != nil else { return nil }
            answer.body = String(decoding: received[..<length], as: UTF8.self)
            received.removeFirst(length)
        } else if answer.field("Transfer-Encoding") == "chunked" {
            guard let end = try receive(until: { ends(of: $0, Array("\r\n0\r\n\r\n".utf8)) }) else {
                return nil
            }
            answer.body = String(decoding: received[..<end], as: UTF8.self)
            received.removeFirst(end)
        }
        return answer
    }

    /// All bytes up to the server's end of the connection.
    func rest() throws -> String {
        while try receive() > 0 {}
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }

    /// The next available bytes; empty after the server's end of the connection.
    func some() throws -> [UInt8] {
        _ = try receive()
        defer { received = [] }
        return received
    }

    private func receive(until isEnough: ([UInt8]) -> Int?) throws -> Int? {
        while true {
            if let enough = isEnough(received) { return enough }
            guard try receive() > 0 else { return nil }
        }
    }

    private func receive() throws -> Int {
        let count = try descriptor.read(into: &piece, at: 0)
        received.append(contentsOf: piece[..<count])
        return count
    }
}

private let crlfcrlf = Array("\r\n\r\n".utf8)

/// The position after the first `mark` in `bytes`; nil when there is none.
private func ends(of bytes: [UInt8], _ mark: [UInt8]) -> Int? {
    var matched = 0
    for index in bytes.indices {
        // This simple search suffices for marks such as a double line break.
        matched = bytes[index] == mark[matched] ? matched + 1 : bytes[index] == mark[0] ? 1 : 0
        if matched == mark.count { return index + 1 }
    }
    return nil
}

/// An answer as received.
struct Answer: Equatable, Sendable {
    let header: String
    var body = ""

    init(header: String) { self.header = header }

    var status: Int { Int(header.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 }

    func field(_ name: String) -> String? {
        for line in header.split(separator: "\r\n") where line.hasPrefix(name + ": ") {
            return String(line.dropFirst(name.count + 2))
        }
        return nil
    }
}
