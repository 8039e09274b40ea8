import BalloonPOSIX
import Dispatch
import Glibc
import Logging
import TestSupport
import Testing

@testable import BalloonHTTP

@Suite struct HTTPServerTests {
    @Test func `answers come inline, later, and pipelined in order`() async throws {
        let server = try await RunningServer(routes: [
            HTTPRoute(.get, "/now") { _, _ in HTTPResponse(.ok, text: "now") },
            HTTPRoute(.get, "/later") { _, responder in
                Task.detached { responder.respond(HTTPResponse(.ok, text: "later")) }
                return nil
            },
        ])
        let request = { (path: String) in "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }
        let answer = try await server.exchange(
            request("/now") + request("/later") + request("/now")
                + "GET /later HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let bodies = answer.components(separatedBy: "\r\n\r\n").dropFirst().map {
            $0.prefix(while: { $0 != "H" })
        }
        #expect(bodies.map(String.init) == ["now", "later", "now", "later"])
        await server.stop()
    }

    @Test func `a streamed answer arrives in chunks`() async throws {
        let server = try await RunningServer(routes: [
            HTTPRoute(.get, "/stream") { _, responder in
                Task.detached {
                    let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/plain"))
                    for piece in ["one", "two"] { try await writer.write(Array(piece.utf8)) }
                    writer.finish()
                }
                return nil
            }
        ])
        let answer = try await server.exchange("GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(answer.hasSuffix("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
        await server.stop()
    }

    @Test func `a collected body is whole, by length and by chunks`() async throws {
        let server = try await RunningServer(routes: [
            HTTPRoute(.post, "/echo", body: .collected(maximumBytes: 100)) { request, _ in
                HTTPResponse(.ok, body: Array(request.body))
            }
        ])
        let byLength = try await server.exchange(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        #expect(byLength.hasSuffix("\r\n\r\nhello"))
        let byChunks = try await server.exchange(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                + "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nChecksum: x\r\n\r\n")
        #expect(byChunks.hasSuffix("\r\n\r\nhello"))
        let tooLarge = try await server.exchange(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n")
        #expect(tooLarge.hasPrefix("HTTP/1.1 413 "))
        await server.stop()
    }

    @Test func `a pulled body comes in pieces with back-pressure`() async throws {
        let server = try await RunningServer(routes: [
            HTTPRoute(.post, "/count", body: .pulled(maximumBytes: 1 << 30)) { request, responder in
                guard let reader = request.bodyReader else { return HTTPResponse(.internalServerError) }
                Task.detached {
                    var total = 0
                    while let piece = try await reader.next() { total += piece.count }
                    responder.respond(HTTPResponse(.ok, text: "\(total)"))
                }
                return nil
            }
        ])
        let size = 3_000_000
        let answer = try await server.exchange(
            "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\nConnection: close\r\n\r\n"
                + String(repeating: "x", count: size))
        #expect(answer.hasSuffix("\r\n\r\n\(size)"))
        await server.stop()
    }
}

/// A server on a port of its own, and a client that sends bytes and reads to the end.
private struct RunningServer {
    let server: HTTPServer
    let address: SocketAddress

    init(routes: [HTTPRoute]) async throws {
        let listener = HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: routes)
        server = try HTTPServer(listeners: [listener], shards: 2, logger: LogCollector().logger)
        address = try await server.start()[0]
    }

    /// On a thread of its own: blocking calls must not hold the threads that the server's handlers need.
    func exchange(_ request: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "client").async {
                continuation.resume(with: Result { try blockingExchange(request) })
            }
        }
    }

    private func blockingExchange(_ request: String) throws -> String {
        let connection = try Descriptor.connect(to: address)
        _ = fcntl(connection.raw, F_SETFL, 0)
        try connection.writeAll(Array(request.utf8))
        var answer: [UInt8] = []
        while try connection.read(onto: &answer, maximumBytes: 65536) > 0 {}
        return String(decoding: answer, as: UTF8.self)
    }

    func stop() async { await server.stop(within: .seconds(1)) }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
