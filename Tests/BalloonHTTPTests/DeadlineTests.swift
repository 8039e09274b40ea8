import Glibc
import Testing

@testable import BalloonHTTP

/// Every wait has a time limit; the limits here are so short that a test waits for a tick or two.
@Suite struct DeadlineTests {
    @Test func `a silent connection is closed without an answer`() async throws {
        try await withServer(sampleRoutes, limit: { $0.firstByteTimeout = .milliseconds(1) }) { server in
            let received = try await server.exchange("")
            #expect(received == "")
        }
    }

    @Test func `an idle connection is closed without an answer`() async throws {
        try await withServer(sampleRoutes, limit: { $0.idleTimeout = .milliseconds(1) }) { server in
            try await server.withConnection { connection in
                try connection.send(get("/"))
                #expect(try connection.answer()?.status == 200)
                #expect(try connection.rest() == "")
            }
        }
    }

    @Test(arguments: ["GET / HT", "GET / HTTP/1.1\r\nHost: a\r\n"])
    func `an incomplete header gets 408`(_ start: String) async throws {
        try await withServer(sampleRoutes, limit: { $0.headTimeout = .milliseconds(1) }) { server in
            let answer = try await server.exchange(start)
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
            #expect(answer.contains("Connection: close"))
        }
    }

    @Test func `arriving bytes do not extend the time limit of a header`() async throws {
        let limit = { (limits: inout HTTPLimits) in
            limits.headTimeout = .milliseconds(300)
            // Raise the size limits, so that the time limit ends the request first.
            (limits.maximumFieldLineBytes, limits.maximumHeaderBytes) = (1 << 28, 1 << 28)
        }
        try await withServer(sampleRoutes, limit: limit) { server in
            let answer = try await server.withConnection { connection in
                try connection.send("GET / HTTP/1.1\r\nX: ")
                // Send single bytes until the server has answered.
                while !connection.hasAnswer, (try? connection.send("a")) != nil {}
                return (try? connection.rest()) ?? ""
            }
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test(
        arguments: ["/echo", "/pull"],
        ["Content-Length: 5\r\n\r\nhell", "Transfer-Encoding: chunked\r\n\r\n5\r\nh"])
    func `an incomplete body gets 408`(_ path: String, _ rest: String) async throws {
        try await withServer(sampleRoutes, limit: { $0.bodyTimeout = .milliseconds(1) }) { server in
            let answer = try await server.exchange("POST \(path) HTTP/1.1\r\nHost: a\r\n\(rest)")
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func `a body below the minimum rate gets 408`() async throws {
        let limit = { (limits: inout HTTPLimits) in
            limits.bodyGrace = .milliseconds(1)
            limits.minimumBodyBytesPerSecond = 1_000_000_000
        }
        let post = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 30)) { _, _ in HTTPResponse(.ok)
        }
        try await withServer([post], limit: limit) { server in
            let answer = try await server.withConnection { connection in
                try connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
                while (try? connection.send("x")) != nil, server.server.connectionCount > 0,
                    !connection.hasAnswer
                {}
                return (try? connection.rest()) ?? ""
            }
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func `a request over its total time limit gets 408`() async throws {
        let limit = { (limits: inout HTTPLimits) in limits.requestTimeout = .milliseconds(1) }
        try await withServer(sampleRoutes, limit: limit) { server in
            let answer = try await server.exchange(
                "POST /pull HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nh")
            #expect(answer.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func `received body bytes extend the time limit up to its maximum`() {
        var limits = HTTPLimits()
        limits.bodyGrace = .seconds(10)
        limits.bodyTimeout = .seconds(60)
        limits.minimumBodyBytesPerSecond = 100
        let ticks = DeadlineTicks(limits)
        #expect(ticks.body(after: 0) < TimerWheel.ticks(.seconds(11)))
        #expect(ticks.body(after: 1000) >= TimerWheel.ticks(.seconds(20)))
        #expect(ticks.body(after: 1_000_000) == TimerWheel.ticks(.seconds(60)))
    }

    @Test func `an unanswered request gets 503, and its late answer is dropped`() async throws {
        let (responders, found) = AsyncStream.makeStream(of: HTTPResponder.self)
        let late = HTTPRoute(.get, "/late") { _, responder in
            found.yield(responder)
            return nil
        }
        let describe: RefusalDescription = { HTTPContent(text: "\($0)") }
        try await withServer([late], limit: { $0.answerTimeout = .milliseconds(1) }, describe) { server in
            let answer = try await server.exchange(get("/late"))
            #expect(answer.hasPrefix("HTTP/1.1 503 "))
            #expect(answer.contains("\r\nRetry-After: 5\r\n") && answer.hasSuffix("\r\n\r\nunanswered"))
            for await responder in responders {
                responder.respond(HTTPResponse(.ok))
                responder.respond(HTTPResponse(.ok))
                break
            }
            #expect(try await server.exchange(get("/late")).hasPrefix("HTTP/1.1 503 "))
        }
    }

    @Test func `a client that reads nothing is disconnected`() async throws {
        let routes = [
            HTTPRoute(.get, "/huge") { _, _ in
                HTTPResponse(.ok, body: [UInt8](repeating: 0x78, count: 30_000_000))
            }
        ]
        try await withServer(routes, limit: { $0.writeTimeout = .milliseconds(1) }) { server in
            try await server.withConnection { connection in
                try connection.receiveSlowly()
                try connection.send(get("/huge"))
                // An answer proves that the connection was accepted; the server may have closed it already.
                while !connection.hasAnswer { sched_yield() }
                while server.server.connectionCount > 0 { sched_yield() }
                let taken = (try? connection.rest())?.utf8.count ?? 0
                #expect(taken < 30_000_000)
            }
        }
    }

    @Test func `many short requests leave no entries in the timer wheel`() async throws {
        // The waits for a request and for its header alternate, so each request moves the deadline nearer and
        // then further away.
        try await withServer(sampleRoutes, limit: { $0.headTimeout = .seconds(30) }) { server in
            try await server.withConnection { connection in
                for _ in 0..<50 {
                    try connection.send("GET / HTTP/1.1\r\n")
                    try connection.send("Host: a\r\n\r\n")
                    #expect(try connection.answer()?.status == 200)
                }
            }
            for shard in server.server.shards { #expect(await shard.wheel.count < 10) }
        }
    }
}
