import BalloonPOSIX
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BalloonHTTP

/// The memory limit of all connections together.
@Suite struct BufferedBytesTests {
    @Test func `unfinished requests may hold the maximum of bytes, but not one more`() async throws {
        try await withServer(Self.routes, limit: { $0.maximumBufferedBytes = 100_000 }) { server in
            let address = server.address
            try await onThread {
                let head = post(length: 90_000)
                let (first, second) = (try RawConnection(address), try RawConnection(address))
                try first.send(head + String(repeating: "a", count: 50_000 - head.utf8.count))
                Self.wait(for: 50_000, server)
                try second.send(head + String(repeating: "b", count: 50_000 - head.utf8.count))
                Self.wait(for: 100_000, server)
                #expect(!first.hasAnswer && !second.hasAnswer)

                try second.send("b")
                let refused = try #require(try second.answer())
                #expect(refused.status == 503)
                #expect(refused.field("Retry-After") == "5")
                #expect(refused.field("Connection") == "close")
                Self.wait(for: 50_000, server)

                try first.send(String(repeating: "a", count: 40_000 + head.utf8.count))
                #expect(try first.answer()?.body == "90000")
                Self.wait(for: 0, server)
            }
        }
    }

    @Test func `chunked bodies are counted like other bodies`() async throws {
        try await withServer(Self.routes, limit: { $0.maximumBufferedBytes = 100_000 }) { server in
            try await server.withConnection { connection in
                try connection.send("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<11 {
                    // Sending may fail, because the server may refuse the request before the last byte is
                    // sent.
                    _ = try? connection.send("2710\r\n" + String(repeating: "a", count: 10_000) + "\r\n")
                }
                #expect(try connection.answer()?.status == 503)
            }
        }
    }

    @Test func `headers are counted, and small requests are served even at the limit`() async throws {
        try await withServer(Self.routes, limit: { $0.maximumBufferedBytes = 10_000 }) { server in
            let address = server.address
            try await onThread {
                let full = try RawConnection(address)
                try full.send(post(length: 20_000) + String(repeating: "a", count: 9_900))
                Self.wait(for: 9_900, server)
                let small = try RawConnection(address)
                try small.send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n")
                try small.send(String(repeating: "a", count: 1_000))
                Self.wait(for: 10_900, server)
                try small.send(String(repeating: "a", count: 1_000))
                #expect(try small.answer()?.body == "2000")
                let whole = try RawConnection(address)
                try whole.send(post(length: 10_000) + String(repeating: "a", count: 10_000))
                #expect(try whole.answer()?.body == "10000")
                let header = try RawConnection(address)
                try header.send("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 5_000))
                #expect(try header.answer()?.status == 503)
            }
        }
    }

    @Test func `unread answers are counted until their connection closes`() async throws {
        try await withServer(sampleRoutes, limit: { $0.maximumPendingOutputBytes = 1 << 20 }) { server in
            let address = server.address
            try await onThread {
                var connection: RawConnection? = try RawConnection(address)
                try connection?.receiveSlowly()
                try connection?.send(String(repeating: get("/large"), count: 200))
                while server.bufferedBytes == 0 { sched_yield() }
                connection?.resetOnClose()
                connection = nil
                Self.wait(for: 0, server)
            }
        }
    }

    @Test func `an answer retains its object until the client has read it or is gone`() async throws {
        let objects = LivingObjects()
        let route = HTTPRoute(.get, "/retaining") { _, _ in
            var response = HTTPResponse(.ok, body: [UInt8](repeating: 7, count: 8 << 20))
            response.retained = objects.make()
            return response
        }
        let streamed = HTTPRoute(.get, "/streamed") { _, responder in
            let response = HTTPResponse(.ok, body: [UInt8](repeating: 7, count: 8 << 20))
            let (writer, object) = (responder.stream(HTTPStreamHead(of: response)), objects.make())
            Task {
                // The client reads all of the answer.
                try? await writer.write(response.body)
                writer.finish(retaining: object)
            }
            return nil
        }
        try await withServer([route, streamed]) { server in
            let address = server.address
            try await onThread {
                for path in ["/retaining", "/streamed"] {
                    let connection = try RawConnection(address)
                    try connection.receiveSlowly()
                    try connection.send(get(path))
                    while server.bufferedBytes == 0 { sched_yield() }
                    #expect(objects.count == 1)
                    #expect(try connection.answer()?.body.utf8.count == 8 << 20)
                    while objects.count > 0 { sched_yield() }
                }
                var connection: RawConnection? = try RawConnection(address)
                try connection?.receiveSlowly()
                try connection?.send(get("/retaining"))
                while server.bufferedBytes == 0 { sched_yield() }
                #expect(objects.count == 1)
                connection?.resetOnClose()
                connection = nil
                while objects.count > 0 { sched_yield() }
            }
        }
    }

    private static let routes = [
        HTTPRoute(.post, "/size", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            HTTPResponse(.ok, text: "\(request.body.count)")
        }
    ]

    /// Waits until the connections hold between `bytes` and 200 more; for 0, until they hold none.
    private static func wait(for bytes: Int, _ server: HTTPServerUnderTest) {
        if bytes == 0 {
            while server.bufferedBytes > 0 { sched_yield() }
        } else {
            while server.bufferedBytes < bytes { sched_yield() }
            while server.bufferedBytes > bytes + 200 { sched_yield() }
        }
    }
}

/// Makes objects, and counts those that are still retained.
private final class LivingObjects: Sendable {
    private final class Object: Sendable {
        private let all: LivingObjects

        init(_ all: LivingObjects) { self.all = all }

        deinit { all.living.subtract(1, ordering: .relaxed) }
    }

    private let living = Atomic(0)

    var count: Int { living.load(ordering: .relaxed) }

    func make() -> any AnyObject & Sendable {
        living.add(1, ordering: .relaxed)
        return Object(self)
    }
}

private func post(length: Int) -> String {
    "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n"
}

extension HTTPServerUnderTest {
    fileprivate var bufferedBytes: Int { server.counters[0].bufferedBytes }
}
