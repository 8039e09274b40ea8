import BalloonPOSIX
import BalloonTLS
import Dispatch
import Glibc
import TestSupport
import Testing

@testable import BalloonHTTP

/// The same bytes to many streamed answers.
@Suite struct BroadcastTests {
    private let broadcast = HTTPBroadcast()

    private var events: HTTPRoute {
        HTTPRoute(.get, "/events") { [broadcast] _, responder in
            responder.stream(HTTPStreamHead(.ok, contentType: "text/event-stream"))
                .subscribe(to: broadcast)
            return nil
        }
    }

    @Test func `every subscriber gets every batch in order, and the end of its answer at a stop`()
        async throws
    {
        let server = try await HTTPServerUnderTest([events])
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<40 { group.addTask { try await server.exchange(get("/events")) } }
            #expect(await eventually { broadcast.subscriberCount == 40 })
            for piece in ["one", "", "two"] { broadcast.send(Array(piece.utf8)) }
            await server.server.stop(within: .seconds(3600))
            for try await answer in group {
                let body = answer.ranges(of: "\r\n\r\n").first.map { String(answer[$0.upperBound...]) }
                #expect(body == "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
            }
        }
        #expect(broadcast.subscriberCount == 0)
    }

    @Test func `an HTTP 1.0 subscriber gets the bytes without chunk framing`() async throws {
        let server = try await HTTPServerUnderTest([events])
        async let answer = server.exchange("GET /events HTTP/1.0\r\n\r\n")
        #expect(await eventually { broadcast.subscriberCount == 1 })
        broadcast.send(Array("one".utf8))
        broadcast.send(Array("two".utf8))
        await server.stop()
        #expect(try await answer.hasSuffix("\r\n\r\nonetwo"))
    }

    @Test func `a subscriber over TLS gets the batches`() async throws {
        let certificate = Fixture.directory + "/tls/certificate.pem"
        let credentials = try TLSCredentials(
            certificateFile: certificate, keyFile: Fixture.directory + "/tls/key.pem")
        let listener = HTTPListener(
            .tcp(host: "127.0.0.1", port: 0), routes: [events], tls: credentials)
        let server = try HTTPServer(listeners: [listener], shards: 1, logger: LogCollector().logger)
        let address = try await server.start()[0]
        async let answer = onThread {
            let client = try TLSClient(address, trusting: certificate)
            try client.send(get("/events"))
            return try client.rest()
        }
        #expect(await eventually { broadcast.subscriberCount == 1 })
        broadcast.send(Array("one".utf8))
        await server.stop(within: .seconds(3600))
        #expect(try await answer.hasSuffix("\r\n\r\n3\r\none\r\n0\r\n\r\n"))
    }

    @Test func `pieces that are written before the subscription precede the batches`() async throws {
        let route = HTTPRoute(.get, "/events") { [broadcast] _, responder in
            Task.detached {
                let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/event-stream"))
                try await writer.write(Array("old".utf8))
                writer.subscribe(to: broadcast)
            }
            return nil
        }
        let server = try await HTTPServerUnderTest([route])
        async let answer = server.exchange(get("/events"))
        #expect(await eventually { broadcast.subscriberCount == 1 })
        broadcast.send(Array("new".utf8))
        await server.stop()
        #expect(try await answer.hasSuffix("\r\n\r\n3\r\nold\r\n3\r\nnew\r\n0\r\n\r\n"))
    }

    @Test func `a subscriber that disconnects, and a HEAD request, are not counted`() async throws {
        try await withServer([events]) { server in
            _ = try await server.answer("HEAD /events HTTP/1.1\r\nHost: a\r\n\r\n", hasBody: false)
            try await server.withConnection { client in
                try client.send(get("/events"))
                #expect(try client.answer(hasBody: false)?.status == 200)
                client.resetOnClose()
            }
            #expect(await eventually { broadcast.subscriberCount == 0 })
            broadcast.send([1])
        }
    }

    @Test func `a subscriber that closes its connection is removed without a write`() async throws {
        try await withServer([events]) { server in
            try await server.withConnection { client in
                try client.send(get("/events"))
                #expect(try client.answer(hasBody: false)?.status == 200)
            }
            #expect(await eventually { broadcast.subscriberCount == 0 })
        }
    }

    @Test func `a subscriber that reads nothing is cut off, and the others get every batch`() async throws {
        try await withServer([events]) { server in
            let (address, broadcast) = (server.address, broadcast)
            try await onThread {
                let slow = try RawConnection(address)
                try slow.receiveSlowly()
                try slow.send(get("/events"))
                let reader = try RawConnection(address)
                try reader.send(get("/events"))
                while broadcast.subscriberCount < 2 { sched_yield() }
                _ = try reader.answer(hasBody: false)
                let batch = [UInt8](repeating: 0x78, count: 32768)
                // 32768 is 8000 in hexadecimal: four digits and two line ends.
                let chunkBytes = batch.count + 8
                var (sent, taken) = (0, 0)
                while broadcast.subscriberCount == 2, sent < 50_000_000 {
                    broadcast.send(batch)
                    sent += chunkBytes
                    while taken < sent { taken += try reader.some().count }
                }
                #expect(broadcast.subscriberCount == 1)
                // The kernel holds a few megabytes, and the server no more than the limit.
                #expect(sent < 20_000_000)
                let received = (try? slow.rest()) ?? ""
                #expect(!received.hasSuffix("0\r\n\r\n") && received.utf8.count < sent)
                broadcast.send(Array("more".utf8))
                var rest: [UInt8] = []
                while rest.count < 9 { rest += try reader.some() }
                #expect(rest == Array("4\r\nmore\r\n".utf8))
            }
        }
    }

    @Test func `a shard that is too far behind cuts its subscribers, and later ones get every batch`()
        async throws
    {
        let (isBlocked, hold) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let block = HTTPRoute(.get, "/block") { _, _ in
            isBlocked.signal()
            hold.wait()
            return HTTPResponse(.ok)
        }
        let server = try await HTTPServerUnderTest([events, block], shards: 1)
        async let first = server.exchange(get("/events"))
        #expect(await eventually { broadcast.subscriberCount == 1 })
        async let blocked = server.exchange(get("/block", "Connection: close\r\n"))
        try await onThread { isBlocked.wait() }
        let batch = [UInt8](repeating: 0x78, count: 4096)
        var sent = 0
        while broadcast.subscriberCount > 0, sent < 100_000_000 {
            broadcast.send(batch)
            sent += batch.count
        }
        #expect(broadcast.subscriberCount == 0)
        #expect(sent <= HTTPBroadcast.maximumWaitingBytes + batch.count)
        hold.signal()
        #expect(try await blocked.hasPrefix("HTTP/1.1 200 "))
        #expect(try await !first.hasSuffix("0\r\n\r\n"))
        async let later = server.exchange(get("/events"))
        #expect(await eventually { broadcast.subscriberCount == 1 })
        broadcast.send(Array("one".utf8))
        await server.stop()
        #expect(try await later.hasSuffix("\r\n\r\n3\r\none\r\n0\r\n\r\n"))
    }

    @Test func `an answer gets the batch and the end that directly follow its subscription`() async throws {
        let route = HTTPRoute(.get, "/events") { [broadcast] _, responder in
            responder.stream(HTTPStreamHead(.ok, contentType: "text/event-stream"))
                .subscribe(to: broadcast)
            // The shard, which runs this handler, has not seen the subscription yet.
            broadcast.send(Array("one".utf8))
            broadcast.finish()
            return nil
        }
        try await withServer([route]) { server in
            let answer = try await server.exchange(get("/events"))
            #expect(answer.hasSuffix("\r\n\r\n3\r\none\r\n0\r\n\r\n"))
        }
    }

    @Test func `a finished broadcast ends the answers of its subscribers, and of later ones`() async throws {
        try await withServer([events]) { server in
            async let first = server.exchange(get("/events"))
            #expect(await eventually { broadcast.subscriberCount == 1 })
            broadcast.send(Array("one".utf8))
            broadcast.finish()
            #expect(try await first.hasSuffix("\r\n\r\n3\r\none\r\n0\r\n\r\n"))
            let later = try await server.exchange(get("/events", "Connection: close\r\n"))
            #expect(later.hasSuffix("\r\n\r\n0\r\n\r\n"))
            #expect(broadcast.subscriberCount == 0)
        }
    }

    @Test func `a stop with 1000 open streams takes less than two seconds`() async throws {
        OpenFileLimit.raise()
        let server = try await HTTPServerUnderTest([events])
        let hold = DispatchSemaphore(value: 0)
        async let ends = server.withConnection { [address = server.address] _ in
            let clients = try (0..<1000).map { _ in try RawConnection(address) }
            for client in clients { try client.send(get("/events")) }
            hold.wait()
            return try clients.count { try $0.rest().hasSuffix("\r\n\r\n3\r\none\r\n0\r\n\r\n") }
        }
        #expect(await eventually { broadcast.subscriberCount == 1000 })
        broadcast.send(Array("one".utf8))
        let begin = ContinuousClock.now
        await server.server.stop(within: .seconds(3600))
        #expect(ContinuousClock.now - begin < .seconds(2))
        hold.signal()
        #expect(try await ends == 1000)
    }

    @Test
    func
        `a shard serves 256 subscribers before it turns to other work, and merges batches when it is behind`()
        async throws
    {
        let server = try await HTTPServerUnderTest([events], shards: 1)
        let hold = DispatchSemaphore(value: 0)
        async let bodies = server.withConnection { [address = server.address] _ in
            let clients = try (0..<300).map { _ in try RawConnection(address) }
            for client in clients { try client.send(get("/events")) }
            hold.wait()
            return try clients.map { try $0.rest().hasSuffix("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n") }
        }
        #expect(await eventually { broadcast.subscriberCount == 300 })
        let batches = ["one", "two"].map { BroadcastBatch(Array($0.utf8)) }
        #expect(await server.server.shards[0].remaining(after: batches) == [44, 0])
        hold.signal()
        await server.stop()
        #expect(try await bodies == Array(repeating: true, count: 300))
    }
}

extension Shard {
    /// The number of unserved subscribers after each step, when these batches are queued at once.
    fileprivate func remaining(after batches: [BroadcastBatch]) -> [Int] {
        guard let section = audiences.values.first?.section else { return [] }
        for batch in batches { deliver(batch, to: section) }
        var remaining: [Int] = []
        while let delivery = deliveries.first {
            continueBroadcasts()
            remaining.append(delivery.subscribers.count - delivery.served)
        }
        return remaining
    }
}
