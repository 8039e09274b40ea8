import Dispatch
import Glibc

/// An HTTP/1.1 server on a loopback port with scripted answers, including invalid ones.
public final class LoopbackServer: Sendable {
    /// A request as received.
    public struct Request: Sendable {
        /// The number of the connection, from 0 in the order of acceptance.
        public var connection: Int
        /// The request line and the fields as received, without line breaks.
        public var head: [String]
        /// The content, by `Content-Length`.
        public var body: [UInt8]

        /// The value of the first field with this name, ignoring case.
        public func header(_ name: String) -> String? {
            head.dropFirst().first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
        }
    }

    /// The server's reaction to a request.
    public enum Action: Sendable {
        /// Sends these bytes and waits for the next request.
        case answer(String)
        /// Sends these bytes and closes.
        case answerAndClose(String)
        /// Continues to read until the peer closes.
        case hang
    }

    /// The numbers of closed connections, closed by either side.
    public let closed: AsyncStream<Int>
    /// The port.
    public let port: UInt16

    private let listener: Int32
    private let closings: AsyncStream<Int>.Continuation

    /// A server that answers each request with `act`; `greeting` is sent before any request.
    public init(greeting: String = "", _ act: @escaping @Sendable (Request) -> Action) {
        (closed, closings) = AsyncStream.makeStream()
        (listener, port) = loopbackSocket(backlog: 128)
        DispatchQueue(label: "accept").async { [listener, closings] in
            var connection = 0
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                let number = connection
                DispatchQueue(label: "connection").async {
                    Self.write(descriptor, greeting)
                    Self.serve(descriptor, number, act)
                    close(descriptor)
                    closings.yield(number)
                }
                connection += 1
            }
            close(listener)
        }
    }

    // Wakes the accepting thread, which closes the descriptor.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// An address of this server.
    public func url(_ path: String = "/", scheme: String = "http") -> String {
        "\(scheme)://127.0.0.1:\(port)\(path)"
    }

    private static func serve(_ descriptor: Int32, _ connection: Int, _ act: (Request) -> Action) {
        var buffer: [UInt8] = []
        while let request = read(descriptor, connection, &buffer) {
            switch act(request) {
            case .answer(let text): write(descriptor, text)
            case .answerAndClose(let text): return write(descriptor, text)
            case .hang:
                buffer = []
                while receive(descriptor, &buffer) {}
                return
            }
        }
    }

    /// Reads one request, with its body by `Content-Length`; nil when the peer closed.
    private static func read(_ descriptor: Int32, _ connection: Int, _ buffer: inout [UInt8]) -> Request? {
        let lineBreaks = Array("\r\n\r\n".utf8)
        var end: Int?
        while end == nil {
            end = buffer.indices.dropLast(3).first { buffer[$0..<$0 + 4].elementsEqual(lineBreaks) }
            if end == nil, !receive(descriptor, &buffer) { return nil }
        }
        guard let end else { return nil }
        let head = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n").map(String.init)
        var request = Request(connection: connection, head: head, body: [])
        let length = request.header("content-length").flatMap { Int($0) } ?? 0
        while buffer.count < end + 4 + length { if !receive(descriptor, &buffer) { return nil } }
        request.body = Array(buffer[end + 4..<end + 4 + length])
        buffer.removeFirst(end + 4 + length)
        return request
    }

    private static func receive(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    private static func write(_ descriptor: Int32, _ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// A response of status 200 with `body`.
public func ok(_ body: String = "", headers: String = "") -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
}
