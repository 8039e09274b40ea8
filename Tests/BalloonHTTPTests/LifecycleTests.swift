import BalloonPOSIX
import Dispatch
import Glibc
import TestSupport
import Testing

@testable import BalloonHTTP

@Suite struct LifecycleTests {
    @Test func `a unix socket is served, protected from other users, and removed at the end`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("control.sock")
        let server = try await HTTPServerUnderTest(sampleRoutes, at: .unix(path: path))
        #expect(try await server.answer(get("/"))?.body == "root")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        await server.stop()
        #expect(stat(path, &status) == -1)
    }

    @Test func `starting on an address in use throws EADDRINUSE`() async throws {
        let first = try await HTTPServerUnderTest(sampleRoutes)
        let error = await #expect(throws: SystemError.self) {
            _ = try await HTTPServerUnderTest(sampleRoutes, at: first.address)
        }
        #expect(error?.code == EADDRINUSE)
        await first.stop()
    }

    @Test func `a stop answers one more request of an idle connection, and says that it closes`() async throws
    {
        let server = try await HTTPServerUnderTest(sampleRoutes)
        let (isOpen, opened) = AsyncStream.makeStream(of: Void.self)
        let (isStopping, stopping) = AsyncStream.makeStream(of: Void.self)
        async let client: Void = server.withConnection { connection in
            try connection.send(get("/"))
            #expect(try connection.answer()?.field("Connection") == nil)
            opened.yield()
            // Until the shards have begun to stop: new connections are refused then.
            while isServed(server.address) { sched_yield() }
            try connection.send(get("/"))
            let answer = try connection.answer()
            #expect(answer?.body == "root")
            #expect(answer?.field("Connection") == "close")
            stopping.finish()
        }
        for await _ in isOpen { break }
        await server.server.stop(within: .seconds(60), idle: .seconds(30))
        try await client
        for await _ in isStopping {}
    }

    @Test func `a stop closes idle connections that send nothing in the time they are given`() async throws {
        let server = try await HTTPServerUnderTest(sampleRoutes)
        let (isOpen, opened) = AsyncStream.makeStream(of: Void.self)
        async let client: Void = server.withConnection { connection in
            try connection.send(get("/"))
            _ = try connection.answer()
            opened.yield()
            #expect(try connection.rest() == "")
        }
        for await _ in isOpen { break }
        await server.server.stop(within: .seconds(60), idle: .milliseconds(200))
        try await client
    }

    @Test func `connections to an inherited socket wait for the next server while none runs`() async throws {
        let manager = try ListeningSocket(.tcp(host: "127.0.0.1", port: 0))
        let (address, raw) = (manager.address, manager.raw)
        func start() async throws -> HTTPServer {
            // The address is the socket's, whatever the listener names.
            let listener = HTTPListener(
                .tcp(host: "127.0.0.1", port: 1), routes: sampleRoutes, inherited: dup(raw))
            let server = try HTTPServer(listeners: [listener], shards: 2, logger: LogCollector().logger)
            #expect(try await server.start() == [address])
            return server
        }
        let first = try await start()
        await first.stop(within: .seconds(1))
        let client = try await onThread {
            let connection = try RawConnection(address)
            try connection.send(get("/"))
            return UncheckedConnection(connection)
        }
        let second = try await start()
        #expect(try await onThread { try client.connection.answer()?.body } == "root")
        await second.stop(within: .seconds(1))
        withExtendedLifetime(manager) {}
    }

    @Test func `several listeners serve their own routes`() async throws {
        let listeners = ["one", "two"].map { name in
            HTTPListener(
                .tcp(host: "127.0.0.1", port: 0),
                routes: [HTTPRoute(.get, "/") { _, _ in HTTPResponse(.ok, text: name) }])
        }
        let server = try HTTPServer(listeners: listeners, shards: 2, logger: LogCollector().logger)
        for (address, name) in zip(try await server.start(), ["one", "two"]) {
            let body = try await onThread {
                let connection = try RawConnection(address)
                try connection.send(get("/"))
                return try connection.answer()?.body
            }
            #expect(body == name)
        }
        await server.stop(within: .seconds(1))
    }

    @Test func `each listener chooses the text and the media type of its refusals`() async throws {
        let problem: RefusalDescription = { refusal in
            HTTPContent(
                type: "application/problem+json", bytes: Array("{\"status\":\(refusal.status.code)}".utf8))
        }
        let listeners = [
            HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: sampleRoutes),
            HTTPListener(
                .tcp(host: "127.0.0.1", port: 0), routes: sampleRoutes, describeRefusal: problem),
        ]
        let server = try HTTPServer(listeners: listeners, shards: 2, logger: LogCollector().logger)
        let addresses = try await server.start()
        let expected = [
            ("text/plain; charset=utf-8", "Not Found\n", "Bad Request\n"),
            ("application/problem+json", "{\"status\":404}", "{\"status\":400}"),
        ]
        for (address, (type, unknown, malformed)) in zip(addresses, expected) {
            try await onThread {
                let connection = try RawConnection(address)
                try connection.send(get("/nothing") + "GET / HTTP/1.1\r\n\r\n")
                for body in [unknown, malformed] {
                    let answer = try connection.answer()
                    #expect(answer?.field("Content-Type") == type)
                    #expect(answer?.body == body)
                }
            }
        }
        await server.stop(within: .seconds(1))
    }

    @Test func `each shard has its own handler`() async throws {
        let route = HTTPRoute(.get, "/") { shard in
            var served = 0
            return HTTPRoute.Handlers { _, _ in
                served += 1
                return HTTPResponse(.ok, text: "\(shard) \(served)")
            }
        }
        let server = try await HTTPServerUnderTest([route], shards: 2)
        let address = server.address
        let bodies = try await onThread {
            let connections = [try RawConnection(address), try RawConnection(address)]
            return try connections.map { connection -> String? in
                try connection.send(get("/") + get("/"))
                _ = try connection.answer()
                return try connection.answer()?.body
            }
        }
        #expect(Set(bodies) == ["0 2", "1 2"])
        await server.stop()
    }

    @Test func `stopping finishes requests in flight and closes idle connections`() async throws {
        let (responders, found) = AsyncStream.makeStream(of: HTTPResponder.self)
        let slow = HTTPRoute(.get, "/slow") { _, responder in
            found.yield(responder)
            return nil
        }
        let server = try await HTTPServerUnderTest([slow])
        async let idle = server.exchange("")
        async let answer = server.exchange(get("/slow"))
        for await responder in responders {
            #expect(await eventually { server.server.connectionCount >= 2 })
            async let stopped: Void = server.server.stop(within: .seconds(60))
            // The stop closes the idle connection; then the answer is sent.
            #expect(try await idle == "")
            responder.respond(HTTPResponse(.ok, text: "done"))
            await stopped
            break
        }
        #expect(try await answer.hasSuffix("done"))
        #expect(server.server.connectionCount == 0)
    }

    @Test func `stopping ends open-ended answers at once`() async throws {
        let events = HTTPRoute(.get, "/events") { _, responder in
            Task.detached {
                let writer = responder.stream(
                    HTTPStreamHead(.ok, contentType: "text/event-stream", isOpenEnded: true))
                while (try? await writer.write(Array("data\n\n".utf8))) != nil {}
            }
            return nil
        }
        let server = try await HTTPServerUnderTest([events])
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let hasStopped = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await server.withConnection { client in
                        try client.send(get("/events"))
                        let answer = try client.answer(hasBody: false)
                        begin.yield()
                        // The client reads nothing until the server has stopped.
                        hasStopped.wait()
                        return answer?.status
                    }
                }
            }
            for await _ in begun.prefix(10) {}
            // The grace is longer than any test, so the stop returns in time only if it ends the answers
            // itself.
            await server.server.stop(within: .seconds(3600))
            #expect(server.server.connectionCount == 0)
            for _ in 0..<10 { hasStopped.signal() }
            for try await status in group { #expect(status == 200) }
        }
    }

    @Test func `stopping sends the end of an open-ended answer, even of one that begins during the stop`()
        async throws
    {
        let (responders, found) = AsyncStream.makeStream(of: HTTPResponder.self)
        let events = HTTPRoute(.get, "/events") { _, responder in
            found.yield(responder)
            return nil
        }
        let server = try await HTTPServerUnderTest([events])
        let head = HTTPStreamHead(.ok, contentType: "text/event-stream", isOpenEnded: true)
        async let early = server.exchange(get("/events"))
        async let late = server.exchange(get("/events"))
        var waiting = responders.makeAsyncIterator()
        let first = try #require(await waiting.next())
        let second = try #require(await waiting.next())
        try await first.stream(head).write(Array("data".utf8))
        async let stopped: Void = server.server.stop(within: .seconds(3600))
        // The first answer ends when the stop begins.
        #expect(await eventually { server.server.connectionCount == 1 })
        _ = second.stream(head)
        await stopped
        let answers = try await [early, late]
        #expect(answers.contains { $0.hasSuffix("\r\n\r\n4\r\ndata\r\n0\r\n\r\n") })
        #expect(answers.contains { $0.hasSuffix("\r\n\r\n0\r\n\r\n") && !$0.contains("data") })
    }

    @Test func `a streamed answer with an end may finish during the stop`() async throws {
        let (responders, found) = AsyncStream.makeStream(of: HTTPResponder.self)
        let download = HTTPRoute(.get, "/download") { _, responder in
            found.yield(responder)
            return nil
        }
        let server = try await HTTPServerUnderTest([download])
        async let idle = server.exchange("")
        async let answer = server.exchange(get("/download"))
        for await responder in responders {
            #expect(await eventually { server.server.connectionCount >= 2 })
            let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/plain", contentLength: 6))
            try await writer.write(Array("one".utf8))
            async let stopped: Void = server.server.stop(within: .seconds(60))
            // The stop has begun when it has closed the idle connection.
            #expect(try await idle == "")
            try await writer.write(Array("two".utf8))
            writer.finish()
            await stopped
            break
        }
        #expect(try await answer.hasSuffix("\r\n\r\nonetwo"))
    }

    @Test func `a request that is not answered within the grace is cut off`() async throws {
        let server = try await HTTPServerUnderTest(sampleRoutes)
        async let answer = server.exchange(get("/never"))
        #expect(await eventually { server.server.connectionCount >= 1 })
        await server.server.stop(within: .milliseconds(1))
        #expect(server.server.connectionCount == 0)
        // The connection ends or is reset: no answer in either case.
        #expect(((try? await answer) ?? "") == "")
        await server.server.stop(within: .seconds(1))
    }

    @Test func `writing an answer or reading a body throws after the server has stopped`() async throws {
        let (responders, found) = AsyncStream.makeStream(of: (HTTPResponder, HTTPBodyReader?).self)
        let route = HTTPRoute(.post, "/", body: .pulled(maximumBytes: 10)) { request, responder in
            found.yield((responder, request.bodyReader))
            return nil
        }
        let server = try await HTTPServerUnderTest([route])
        async let answer = server.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
        for await (responder, reader) in responders {
            let reader = try #require(reader)
            await server.server.stop(within: .zero)
            let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/plain"))
            await #expect(throws: HTTPStreamError.disconnected) { try await writer.write([1]) }
            await #expect(throws: HTTPStreamError.disconnected) { _ = try await reader.next() }
            break
        }
        _ = try? await answer
    }

    @Test func `answers from many threads at once reach their own clients`() async throws {
        let route = HTTPRoute(.get, "/later/*") { request, responder in
            let path = Array(request.path)
            Task.detached { responder.respond(HTTPResponse(.ok, body: path)) }
            return nil
        }
        try await withServer([route]) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<20 {
                    group.addTask {
                        try await server.withConnection { connection in
                            for number in 0..<25 {
                                try connection.send(get("/later/\(client)/\(number)"))
                                #expect(try connection.answer()?.body == "/later/\(client)/\(number)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a full listener accepts the next client when another disconnects`() async throws {
        try await withServer(sampleRoutes, limit: { $0.maximumConnections = 2 }) { server in
            let address = server.address
            let answers = try await onThread {
                var first: RawConnection? = try RawConnection(address)
                let second = try RawConnection(address)
                for connection in [first, second] {
                    try connection?.send(get("/"))
                    _ = try connection?.answer()
                }
                let third = try RawConnection(address)
                try third.send(get("/"))
                first = nil
                return [try third.answer()?.status, first == nil ? 200 : 0]
            }
            #expect(answers == [200, 200])
            #expect(server.log.lines.filter { $0.contains("listener paused") }.count == 1)
        }
    }

    @Test func `a peer is limited to its maximum of connections`() async throws {
        try await withServer(sampleRoutes, limit: { $0.maximumConnectionsPerPeer = 2 }) { server in
            let address = server.address
            try await onThread {
                var first: RawConnection? = try RawConnection(address)
                let second = try RawConnection(address)
                for connection in [first, second] {
                    try connection?.send(get("/"))
                    #expect(try connection?.answer()?.status == 200)
                }
                #expect(((try? RawConnection(address).rest()) ?? "") == "")
                #expect(first != nil)
                first = nil
                // The server detects the disconnect asynchronously.
                while server.server.connectionCount > 1 { sched_yield() }
                let third = try RawConnection(address)
                try third.send(get("/"))
                #expect(try third.answer()?.status == 200)
            }
        }
    }
}

/// Whether a new connection gets an answer.
private func isServed(_ address: SocketAddress) -> Bool {
    guard let connection = try? RawConnection(address), (try? connection.send(get("/"))) != nil else {
        return false
    }
    let answer = try? connection.answer()
    return answer != nil
}

/// A connection that is used by one thread after the other.
private final class UncheckedConnection: @unchecked Sendable {
    let connection: RawConnection

    init(_ connection: RawConnection) { self.connection = connection }
}
