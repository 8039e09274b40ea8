import Synchronization
import TestSupport
import Testing

@testable import BalloonHTTP

/// The persistence of connections, and the order of answers.
@Suite struct PersistenceTests {
    @Test func `a connection serves one request after the other`() async throws {
        try await withServer(sampleRoutes) { server in
            try await server.withConnection { connection in
                for path in ["/", "/later", "/nothing", "/"] {
                    try connection.send(get(path))
                    #expect(try connection.answer()?.field("Connection") == nil)
                }
                try connection.send(get("/", "Connection: close\r\n"))
                #expect(try connection.answer()?.field("Connection") == "close")
                #expect(try connection.rest() == "")
            }
        }
    }

    @Test func `a route is notified when a batch of requests is handled`() async throws {
        let waiting = Mutex<[HTTPResponder]>([])
        let route = HTTPRoute(
            .get, "/together",
            endBurst: {
                let responders = waiting.withLock { waiting in
                    defer { waiting = [] }
                    return waiting
                }
                for responder in responders { responder.respond(HTTPResponse(.ok)) }
            },
            makeHandlers: { _ in
                HTTPRoute.Handlers { _, responder in
                    waiting.withLock { $0.append(responder) }
                    return nil
                }
            })
        try await withServer([route]) { server in
            let last = get("/together", "Connection: close\r\n")
            let answers = try await server.exchange(String(repeating: get("/together"), count: 3) + last)
            #expect(answers.ranges(of: "200 OK").count == 4)
        }
    }

    @Test func `the server closes an HTTP 1.0 connection unless the request has keep-alive`() async throws {
        try await withServer(sampleRoutes) { server in
            let closed = try await server.exchange("GET / HTTP/1.0\r\n\r\n")
            #expect(closed.hasPrefix("HTTP/1.1 200 ") && closed.contains("\r\nConnection: close\r\n"))
            try await server.withConnection { connection in
                for _ in 0..<2 {
                    try connection.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    #expect(try connection.answer()?.field("Connection") == "keep-alive")
                }
            }
        }
    }

    @Test func `the last allowed request of a connection closes it`() async throws {
        try await withServer(sampleRoutes, limit: { $0.maximumRequestsPerConnection = 3 }) { server in
            let answers = try await server.exchange(String(repeating: get("/"), count: 5))
            #expect(answers.ranges(of: "200 OK").count == 3)
            #expect(answers.ranges(of: "Connection: close").count == 1)
        }
    }

    @Test func `pipelined requests are answered in order for every kind of answer`() async throws {
        try await withServer(sampleRoutes) { server in
            try await server.withConnection { connection in
                let paths = (0..<100).map { ["/", "/later", "/nothing", "/below/\($0)"][$0 % 4] }
                try connection.send(paths.map { get($0) }.joined())
                for path in paths {
                    let body = try connection.answer()?.body
                    #expect(
                        body == ["/": "root", "/later": "later", "/nothing": "Not Found\n"][path] ?? path)
                }
            }
        }
    }

    @Test func `pipelined requests that arrive in pieces are answered like complete ones`() async throws {
        try await withServer(sampleRoutes) { server in
            try await server.withConnection { connection in
                let post = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
                let chunks = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                let text = Array((get("/later") + post + chunks + "2\r\nhe\r\n0\r\n\r\n" + get("/")).utf8)
                for byte in text { try connection.send(String(decoding: [byte], as: UTF8.self)) }
                for body in ["later", "hello", "he", "root"] {
                    #expect(try connection.answer()?.body == body)
                }
            }
        }
    }

    @Test func `a half-closed client gets all its answers`() async throws {
        try await withServer(sampleRoutes) { server in
            let answers = try await server.withConnection { connection in
                try connection.send(get("/later") + get("/large") + get("/later") + get("/") + "GET /unfin")
                connection.finishSending()
                return try connection.rest()
            }
            #expect(answers.ranges(of: "200 OK").count == 4)
        }
    }

    /// The act of a client after its request.
    enum Ending: CaseIterable { case reads, finishes, disconnects, resets }

    @Test(arguments: zip(Ending.allCases, [HTTPDelivery.sent, .unknown, .unknown, .unsent]))
    func `the end of an answer says whether its client got it, unless the client had finished`(
        ending: Ending, expected: HTTPDelivery
    ) async throws {
        let (held, deliveries) = (EventCollector<HTTPResponder>(), EventCollector<HTTPDelivery>())
        let ended = EventCollector<Ending>()
        let route = HTTPRoute(.get, "/held") { _, responder in
            held.append(responder)
            return nil
        }
        // One shard, so that it sees the end of this connection before a later connection's request.
        let server = try await HTTPServerUnderTest(sampleRoutes + [route], shards: 1)
        let client = Task {
            try await server.withConnection { connection in
                // The first answer shows that the server has both requests.
                try connection.send(get("/") + get("/held"))
                #expect(try connection.answer()?.body == "root")
                switch ending {
                case .reads: #expect(try connection.answer()?.body == "held")
                case .finishes:
                    connection.finishSending()
                    ended.append(ending)
                    #expect(try connection.answer()?.body == "held")
                case .disconnects: break
                case .resets: connection.resetOnClose()
                }
            }
        }
        let responder = try #require(await held.first { _ in true })
        switch ending {
        case .reads: break
        case .disconnects, .resets: try await client.value
        case .finishes: await ended.first { _ in true }
        }
        #expect(try await server.answer(get("/"))?.status == 200)
        responder.respond(HTTPResponse(.ok, text: "held")) { deliveries.append($0) }
        #expect(await deliveries.first { _ in true } == expected)
        try await client.value
        await server.stop()
    }

    @Test func `pipelined answers that exceed the output limit all arrive`() async throws {
        // Each answer exceeds the limit, so the server must stop parsing, and resume when the client has
        // read.
        try await withServer(sampleRoutes, limit: { $0.maximumPendingOutputBytes = 1000 }) { server in
            try await server.withConnection { connection in
                try connection.send(String(repeating: get("/large"), count: 50))
                for _ in 0..<50 { #expect(try connection.answer()?.body.utf8.count == 100_000) }
            }
        }
    }

    @Test func `a reset during a request does not affect other connections`() async throws {
        try await withServer(sampleRoutes) { server in
            for request in [
                "GET / HT", get("/never"), "POST /pull HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
            ] {
                try await server.withConnection { connection in
                    try connection.send(request)
                    connection.resetOnClose()
                }
            }
            #expect(try await server.answer(get("/"))?.status == 200)
        }
    }
}
