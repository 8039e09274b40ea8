import BalloonJSON
import BalloonPOSIX
import Glibc

/// A blocking follower of an event stream, which can be cut at any byte; it ends after a minute without one.
final class EventFollower {
    /// A complete event.
    struct Event: Sendable {
        let id: String?
        let name: String
        let data: JSONValue

        var key: String? { data["key"]?.string }
    }

    private let descriptor: Descriptor
    private var received: [UInt8] = []
    private var piece = [UInt8](repeating: 0, count: 65536)
    /// The header of the answer, once it is complete.
    private(set) var header: String?
    /// The last complete `id`.
    private(set) var lastID: String?
    /// The number of complete comments.
    private(set) var comments = 0

    /// Connects and sends the request, of HTTP/1.0 so that the body has no chunk framing.
    init(_ address: String, path: String = "/v1/events", token: String, lastID: String? = nil) throws {
        guard let socketAddress = SocketAddress(address) else { throw SystemError("connect", code: EINVAL) }
        descriptor = try Descriptor.connect(to: socketAddress)
        var writable = pollfd(fd: descriptor.raw, events: Int16(POLLOUT), revents: 0)
        poll(&writable, 1, 60_000)
        _ = fcntl(descriptor.raw, F_SETFL, 0)
        var wait = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor.raw, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        self.lastID = lastID
        let resume = lastID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        let fields = "Host: \(address)\r\nAuthorization: Bearer \(token)\r\n\(resume)"
        let request = "GET \(path) HTTP/1.0\r\n\(fields)\r\n"
        _ = try descriptor.send(Array(request.utf8))
    }

    /// The next events, possibly none; nil at the end of the stream.
    ///
    /// Reads once, and at most `maximum` bytes.
    func next(maximum: Int = 65536) throws -> [Event]? {
        var part = [UInt8](repeating: 0, count: maximum)
        let count = try descriptor.read(into: &part, at: 0)
        if count == 0 { return nil }
        received += part[..<count]
        return try takeEvents()
    }

    /// Reads until an event satisfies a condition; returns all events up to then, fewer when the stream ends.
    func events(through isLast: (Event) -> Bool) throws -> [Event] {
        var all: [Event] = []
        while let events = try next() {
            all += events
            if events.contains(where: isLast) { break }
        }
        return all
    }

    /// Reads until the end of the stream; true when it ends regularly.
    func isEnded() -> Bool {
        while let count = try? descriptor.read(into: &piece, at: 0) { if count == 0 { return true } }
        return false
    }

    private func takeEvents() throws -> [Event] {
        var events: [Event] = []
        while let end = end(of: header == nil ? "\r\n\r\n" : "\n\n") {
            let block = String(decoding: received[..<end], as: UTF8.self)
            received.removeFirst(end)
            if header == nil {
                header = block
                continue
            }
            var fields: [Substring: Substring] = [:]
            for line in block.split(separator: "\n") where !line.hasPrefix(":") {
                guard let colon = line.firstIndex(of: ":") else { continue }
                fields[line[..<colon]] = line[line.index(after: colon)...].drop { $0 == " " }
            }
            if block.hasPrefix(":") { comments += 1 }
            if let id = fields["id"] { lastID = String(id) }
            guard let data = fields["data"], let name = fields["event"] else { continue }
            events.append(
                Event(
                    id: fields["id"].map(String.init), name: String(name),
                    data: try JSONDocument(Array(data.utf8)).root))
        }
        return events
    }

    private func end(of mark: String) -> Int? {
        let mark = Array(mark.utf8)
        guard received.count >= mark.count else { return nil }
        for start in 0...(received.count - mark.count)
        where received[start] == mark[0] && received[start..<start + mark.count].elementsEqual(mark) {
            return start + mark.count
        }
        return nil
    }
}
