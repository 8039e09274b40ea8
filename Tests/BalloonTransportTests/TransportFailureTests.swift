import BalloonTransport
import Synchronization
import TestSupport
import Testing

@Suite struct TransportFailureTests {
    private let transport: CurlTransport

    init() throws { transport = try CurlTransport() }

    private func failure(_ request: TransportRequest) async -> TransportError? {
        do {
            _ = try await transport.send(request)
            return nil
        } catch { return error }
    }

    @Test func `a refused connection is reported as failed`() async {
        let port = RefusingPort()
        #expect(await failure(.plain(port.origin + "/")) == .connectionFailed)
    }

    // A label of more than 63 bytes is rejected before any DNS query (RFC 1035 §2.3.4).
    @Test func `a host without an address is reported as unresolved`() async {
        let host = String(repeating: "a", count: 70) + ".invalid"
        #expect(await failure(.plain("http://\(host)/")) == .hostUnresolved)
    }

    @Test func `a missing response times out`() async {
        let seen = Seen()
        let server = LoopbackServer { request in
            seen.add(request)
            return .hang
        }
        var request = TransportRequest.plain(server.url())
        request.timeout = .zero
        #expect(await failure(request) == .timedOut)
        // Repeat with a longer limit, because on a busy machine the first request may time out before it is
        // sent.
        repeat {
            request.timeout = max(.milliseconds(30), request.timeout * 2)
            #expect(await failure(request) == .timedOut)
        } while seen.requests.isEmpty && request.timeout < .seconds(60)
        // The transport has closed the connection of a request that timed out.
        var closed = server.closed.makeAsyncIterator()
        #expect(await closed.next() != nil)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "not HTTP at all\r\n\r\n",
    ])
    func `a truncated or missing response is reported as interrupted`(text: String) async {
        let server = LoopbackServer { _ in .answerAndClose(text) }
        guard case .interrupted? = await failure(.plain(server.url(), method: "POST")) else {
            Issue.record("not interrupted")
            return
        }
    }

    /// A server that keeps connections and closes one without an answer when it has read `/close`.
    private func closingServer(_ seen: Seen) -> LoopbackServer {
        LoopbackServer { request in
            seen.add(request)
            return request.head[0].contains(" /close ") ? .answerAndClose("") : .answer(ok())
        }
    }

    @Test(arguments: ["POST", "PATCH"])
    func `a request that must happen once reaches a server that closes after reading it only once`(
        method: String
    ) async throws {
        let seen = Seen()
        let server = closingServer(seen)
        for _ in 0..<2 { _ = try await transport.send(.plain(server.url(), method: "GET")) }
        guard case .interrupted? = await failure(.plain(server.url("/close"), method: method)) else {
            Issue.record("not interrupted")
            return
        }
        #expect(
            seen.requests.map(\.head.first) == [
                "GET / HTTP/1.1", "GET / HTTP/1.1", "\(method) /close HTTP/1.1",
            ])
        #expect(seen.requests.map(\.connection) == [0, 0, 1])
    }

    @Test func `only a request that may happen twice is sent again after a kept connection closed`()
        async throws
    {
        let seen = Seen()
        let server = closingServer(seen)
        let requests: [(method: String, mustHappenOnce: Bool?, tries: Int)] = [
            ("GET", nil, 2), ("PUT", nil, 2), ("DELETE", nil, 2), ("POST", false, 2), ("GET", true, 1),
            ("POST", nil, 1), ("M-SEARCH", nil, 1),
        ]
        for (method, mustHappenOnce, tries) in requests {
            _ = try await transport.send(.plain(server.url()))
            let before = seen.requests.count
            var request = TransportRequest(
                method: method, url: server.url("/close"), allowsPlainHTTP: true,
                mustHappenOnce: mustHappenOnce)
            request.body = Array("once".utf8)
            _ = await failure(request)
            #expect(seen.requests.count - before == tries, "\(method) \(tries)")
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n0123456789",
    ])
    func `a response of exactly the limit is accepted, one more byte is refused`(text: String) async throws {
        let server = LoopbackServer { _ in .answerAndClose(text) }
        var request = TransportRequest.plain(server.url())
        request.maximumResponseBytes = 10
        #expect(try await transport.send(request).body.count == 10)
        request.maximumResponseBytes = 9
        #expect(await failure(request) == .responseTooLarge(maximumBytes: 9))
        request.maximumResponseBytes = 0
        #expect(await failure(request) == .responseTooLarge(maximumBytes: 0))
    }

    @Test func `an endless response is ended at the limit`() async {
        let endless = "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 1 << 20)
        let server = LoopbackServer { _ in .answer(endless) }
        var request = TransportRequest.plain(server.url())
        request.maximumResponseBytes = 1000
        #expect(await failure(request) == .responseTooLarge(maximumBytes: 1000))
    }

    @Test(arguments: [
        ("http", TransportError.schemeRefused), ("ftp", .schemeRefused), ("gopher", .schemeRefused),
        ("HTTP", .schemeRefused),
    ])
    func `only https is allowed unless plain HTTP is enabled`(scheme: String, expected: TransportError) async
    {
        let seen = Seen()
        let server = LoopbackServer {
            seen.add($0)
            return .answer(ok())
        }
        #expect(await failure(TransportRequest(url: server.url(scheme: scheme))) == expected)
        if scheme.lowercased() != "http" {
            #expect(await failure(.plain(server.url(scheme: scheme))) == expected)
        }
        #expect(seen.requests.isEmpty)
    }

    @Test func `a URL with the scheme file is refused`() async {
        #expect(await failure(.plain("file:///etc/passwd")) == .schemeRefused)
    }

    @Test func `a peer that does not speak TLS fails the handshake`() async {
        let server = LoopbackServer(greeting: "HTTP/1.1 400 Bad Request\r\n\r\n") { _ in .answer(ok()) }
        guard case .tlsFailed? = await failure(TransportRequest(url: server.url(scheme: "https"))) else {
            Issue.record("the handshake did not fail")
            return
        }
    }

    @Test func `a missing handshake times out`() async {
        // The server waits for the empty line at the end of a head, which a TLS client never sends.
        let server = LoopbackServer { _ in .answer(ok()) }
        var request = TransportRequest(url: server.url(scheme: "https"))
        request.connectTimeout = .milliseconds(30)
        #expect(await failure(request) == .timedOut)
    }

    @Test(arguments: [
        "", "no url", "http://", "http://127.0.0.1:99999/", "http://user:pass@127.0.0.1/",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/\r\nX: y", "http://127.0.0.1\0.example.com/",
    ])
    func `a malformed URL is refused`(url: String) async {
        let error = await failure(.plain(url))
        #expect(error == .requestInvalid)
    }

    @Test(arguments: ["", "GE T", "GET\r\n", "G\u{0}", "GÉT"])
    func `a method that is not a token is refused`(method: String) async {
        #expect(await failure(.plain("http://127.0.0.1:1/", method: method)) == .requestInvalid)
    }

    @Test(arguments: [
        ("", "x"), ("a b", "x"), ("a:", "x"), ("a\r\nb", "x"), ("a", "x\r\nb: c"), ("a", "x\n"),
        ("a", "x\0y"),
        ("a", "\u{7f}"), ("a;", ""),
    ])
    func `a field that would change the header is refused`(name: String, value: String) async {
        var request = TransportRequest.plain("http://127.0.0.1:1/")
        request.headers = [(name, value)]
        #expect(await failure(request) == .requestInvalid)
    }

    @Test func `cancelling the task ends the transfer at once and closes its connection`() async throws {
        let (arrivals, arrived) = AsyncStream<Void>.makeStream()
        let server = LoopbackServer { _ in
            arrived.yield()
            return .hang
        }
        let task = Task { [transport] in try await transport.send(.plain(server.url())) }
        var arrival = arrivals.makeAsyncIterator()
        await arrival.next()
        task.cancel()
        await #expect(throws: TransportError.cancelled) { try await task.value }
        var closed = server.closed.makeAsyncIterator()
        #expect(await closed.next() == 0)
    }

    @Test func `a task that was cancelled earlier sends nothing`() async throws {
        let seen = Seen()
        let server = LoopbackServer {
            seen.add($0)
            return .answer(ok())
        }
        let task = Task { [transport] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(.plain(server.url()))
        }
        await #expect(throws: TransportError.cancelled) { try await task.value }
        // The transport's queue is serial: if the first request had been sent, it would have arrived before
        // this one.
        _ = try await transport.send(.plain(server.url("/second")))
        #expect(seen.requests.map { $0.head[0] } == ["GET /second HTTP/1.1"])
    }

    @Test func `cancelling one request does not affect the others`() async throws {
        let gate = Gate()
        let server = LoopbackServer { request in
            gate.wait()
            return .answer(ok(request.head[0]))
        }
        let tasks = (0..<20).map { number in
            Task { [transport] in try await transport.send(.plain(server.url("/\(number)"))) }
        }
        for number in stride(from: 0, to: 20, by: 2) { tasks[number].cancel() }
        for number in stride(from: 0, to: 20, by: 2) {
            await #expect(throws: TransportError.cancelled) { try await tasks[number].value }
        }
        gate.open()
        for number in stride(from: 1, to: 20, by: 2) {
            #expect(try await tasks[number].value.body == Array("GET /\(number) HTTP/1.1".utf8))
        }
    }

    @Test func `a failure is retryable unless it needs a correction`() {
        let retryable: [TransportError] = [
            .hostUnresolved, .connectionFailed, .tlsFailed(code: 35), .timedOut, .interrupted(code: 56),
            .failed(code: 2),
        ]
        let final: [TransportError] = [
            .requestInvalid, .schemeRefused, .addressRefused, .certificateRefused,
            .responseTooLarge(maximumBytes: 1), .contentFailed, .cancelled,
        ]
        for error in retryable { #expect(error.isRetryable) }
        for error in final { #expect(!error.isRetryable) }
    }
}
