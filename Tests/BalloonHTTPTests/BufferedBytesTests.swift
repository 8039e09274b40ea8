import BalloonPOSIX
import Glibc
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

private func post(length: Int) -> String {
    "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n"
}

extension HTTPServerUnderTest {
    fileprivate var bufferedBytes: Int { server.counters[0].bufferedBytes }
}
