import BalloonTransport
import Synchronization
import TestSupport
import Testing

/// Values collected from the server's threads.
final class Seen: Sendable {
    private let stored = Mutex<[LoopbackServer.Request]>([])

    var requests: [LoopbackServer.Request] { stored.withLock { $0 } }

    func add(_ request: LoopbackServer.Request) { stored.withLock { $0.append(request) } }
}

extension TransportRequest {
    /// A request to a test server.
    static func plain(_ url: String, method: String = "GET", body: [UInt8] = []) -> TransportRequest {
        TransportRequest(method: method, url: url, body: body, allowsPlainHTTP: true)
    }
}

@Suite struct CurlTransportTests {
    private let transport: CurlTransport

    init() throws { transport = try CurlTransport() }

    @Test func `status, fields and content of a response arrive unchanged`() async throws {
        let server = LoopbackServer { _ in
            .answer(
                "HTTP/1.1 404 Nope\r\nX-One:  a b \t\r\nx-two:\r\nX-One: c:d\r\nContent-Length: 5\r\n\r\nh\0llo"
            )
        }
        let response = try await transport.send(.plain(server.url()))
        #expect(response.status == 404)
        #expect(response.headers.map(\.name) == ["X-One", "x-two", "X-One", "Content-Length"])
        #expect(response.headers.map(\.value) == ["a b", "", "c:d", "5"])
        #expect(response.header("x-ONE") == "a b")
        #expect(response.header("X-Two") == "")
        #expect(response.header("x-three") == nil)
        #expect(response.body == Array("h\0llo".utf8))
    }

    @Test func `the request is sent unchanged, with only Host and Accept added`() async throws {
        let seen = Seen()
        let server = LoopbackServer {
            seen.add($0)
            return .answer(ok())
        }
        var request = TransportRequest.plain(
            server.url("/v1/message?a=b%20c"), method: "POST", body: Array("{}\0".utf8))
        request.headers = [("Authorization", "Bearer x.y.z"), ("id", "1"), ("empty", ""), ("Id", "ü")]
        _ = try await transport.send(request)
        let received = try #require(seen.requests.first)
        #expect(
            received.head == [
                "POST /v1/message?a=b%20c HTTP/1.1", "Host: 127.0.0.1:\(server.port)", "Accept: */*",
                "Authorization: Bearer x.y.z", "id: 1", "empty:", "Id: ü", "Content-Length: 3",
            ])
        #expect(received.body == Array("{}\0".utf8))
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
    func `each method is sent with and without content`(method: String) async throws {
        let seen = Seen()
        let server = LoopbackServer {
            seen.add($0)
            return .answer(ok("yes"))
        }
        for body in [[], Array("content".utf8)] {
            let response = try await transport.send(.plain(server.url(), method: method, body: body))
            #expect(response.body == Array("yes".utf8))
        }
        #expect(seen.requests.map(\.body) == [[], Array("content".utf8)])
        #expect(seen.requests.allSatisfy { $0.head[0] == "\(method) / HTTP/1.1" })
        let sendsLength = ["POST", "PUT", "PATCH"].contains(method)
        #expect(seen.requests.first?.header("content-length") == (sendsLength ? "0" : nil))
    }

    @Test func `the answer to HEAD ends after its head`() async throws {
        let server = LoopbackServer { _ in .answer("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n") }
        let response = try await transport.send(.plain(server.url(), method: "HEAD"))
        #expect(response.header("content-length") == "7")
        #expect(response.body.isEmpty)
    }

    @Test func `large content is sent without waiting for 100 Continue`() async throws {
        let body = repeatingBytes(3_000_000, period: 23, first: UInt8(ascii: "a"))
        let seen = Seen()
        let server = LoopbackServer {
            seen.add($0)
            return .answer(ok(String(decoding: $0.body, as: UTF8.self)))
        }
        var request = TransportRequest.plain(server.url(), method: "PUT", body: body)
        request.maximumResponseBytes = body.count
        #expect(try await transport.send(request).body == body)
        #expect(seen.requests.first?.header("expect") == nil)
    }

    @Test func `chunked content arrives completely`() async throws {
        let server = LoopbackServer { _ in
            .answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        }
        #expect(try await transport.send(.plain(server.url())).body == Array("abcde".utf8))
    }

    @Test func `trailer fields are omitted`() async throws {
        let server = LoopbackServer { _ in
            .answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Late: 1\r\n\r\n")
        }
        let response = try await transport.send(.plain(server.url()))
        #expect(response.headers.map(\.name) == ["Transfer-Encoding"])
        #expect(response.body == [UInt8(ascii: "a")])
    }

    @Test func `an interim response is skipped`() async throws {
        let server = LoopbackServer { _ in .answer("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("a")) }
        let response = try await transport.send(.plain(server.url()))
        #expect(response.status == 200)
        #expect(response.headers.map(\.name) == ["Content-Length"])
    }

    @Test func `a redirect is returned as the response`() async throws {
        let seen = Seen()
        let server = LoopbackServer {
            seen.add($0)
            return .answer("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
        }
        let response = try await transport.send(.plain(server.url()))
        #expect(response.status == 302)
        #expect(response.header("location") == "/elsewhere")
        #expect(seen.requests.count == 1)
    }

    @Test func `consecutive requests use the same connection`() async throws {
        let server = LoopbackServer { .answer(ok("\($0.connection)")) }
        for _ in 1...5 {
            var request = TransportRequest.plain(server.url(), method: "POST")
            request.mustHappenOnce = false
            #expect(try await transport.send(request).body == Array("0".utf8))
        }
    }

    @Test func `a request that must happen once uses a connection of its own`() async throws {
        let server = LoopbackServer { .answer(ok("\($0.connection)")) }
        for (method, connection) in [("GET", 0), ("POST", 1), ("POST", 2), ("GET", 0)] {
            let response = try await transport.send(.plain(server.url(), method: method))
            #expect(response.body == Array("\(connection)".utf8))
        }
    }

    @Test func `a connection that the server closed meanwhile is replaced`() async throws {
        let server = LoopbackServer { .answerAndClose(ok("\($0.connection)")) }
        var closed = server.closed.makeAsyncIterator()
        for connection in 0..<3 {
            let response = try await transport.send(.plain(server.url(), method: "POST", body: [1]))
            #expect(response.body == Array("\(connection)".utf8))
            #expect(await closed.next() == connection)
        }
    }

    @Test func `fifty requests are in flight at once`() async throws {
        let arrived = Mutex(0)
        // All requests must arrive before the first answer.
        let (all, allArrived) = AsyncStream<Void>.makeStream()
        let gate = Gate()
        let server = LoopbackServer { request in
            if arrived.withLock({
                $0 += 1; return $0
            }) == 50 {
                allArrived.finish()
            }
            gate.wait()
            return .answer(ok(request.head[0]))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...50 {
                group.addTask { [transport] in
                    let response = try await transport.send(.plain(server.url("/\(number)")))
                    #expect(response.body == Array("GET /\(number) HTTP/1.1".utf8))
                }
            }
            for await _ in all {}
            gate.open()
            try await group.waitForAll()
        }
    }

    @Test func `connections close when the transport is destroyed`() async throws {
        let server = LoopbackServer { _ in .answer(ok()) }
        do {
            let transport = try CurlTransport()
            _ = try await transport.send(.plain(server.url()))
        }
        var closed = server.closed.makeAsyncIterator()
        #expect(await closed.next() == 0)
    }
}
