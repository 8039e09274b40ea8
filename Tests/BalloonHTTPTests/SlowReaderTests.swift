import BalloonPOSIX
import Testing

@testable import BalloonHTTP

@Suite struct SlowReaderTests {
    @Test func `a client that pipelines without reading is slowed down`() async throws {
        try await withServer(sampleRoutes) { server in
            try await server.withConnection { connection in
                try connection.receiveSlowly()
                // The server stops reading when its answers are not read, so the client cannot send without
                // limit.
                let requests = String(repeating: get("/large"), count: 1000)
                var sent = 0
                while sent < 200_000_000 {
                    let count = connection.sendWithoutWaiting(requests)
                    if count == 0 { break }
                    sent += count
                }
                #expect(sent < 100_000_000)
            }
            #expect(try await server.answer(get("/"))?.status == 200)
        }
    }

    @Test func `a slow reader finally gets every pipelined answer`() async throws {
        try await withServer(sampleRoutes, limit: { $0.maximumPendingOutputBytes = 10_000 }) { server in
            let total = try await server.withConnection { connection in
                try connection.receiveSlowly()
                try connection.send(
                    String(repeating: get("/large"), count: 40) + get("/", "Connection: close\r\n"))
                connection.finishSending()
                var total = 0
                while true {
                    let count = try connection.some().count
                    if count == 0 { return total }
                    total += count
                }
            }
            #expect(total > 4_000_000)
        }
    }

    @Test func `a client receives its refusal although it sent many more bytes`() async throws {
        try await withServer(sampleRoutes) { server in
            let answer = try await server.withConnection { connection in
                try connection.send(
                    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
                        + String(repeating: "x", count: 1_000_000))
                return try connection.rest()
            }
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
        }
    }
}
