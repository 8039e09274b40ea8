import Dispatch
import TestSupport
import Testing

@testable import BalloonHTTP

/// Limits that change while the server runs.
@Suite(.timeLimit(.minutes(5))) struct AppliedLimitsTests {
    private static func applied(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
        var limits = HTTPLimits()
        change(&limits)
        return limits
    }

    private static let cases: [(name: String, limits: HTTPLimits, request: String, answer: String)] = [
        (
            "fields", applied { $0.maximumFieldCount = 3 },
            "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "a: b\r\n", count: 5))\r\n", " 431 "
        ),
        ("first byte", applied { $0.firstByteTimeout = .seconds(1) }, "", ""),
        ("header", applied { $0.headTimeout = .seconds(1) }, "GET / HTTP/1.1\r\n", " 408 "),
        (
            "body", applied { $0.bodyTimeout = .seconds(1) },
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1", " 408 "
        ),
        ("idle", applied { $0.idleTimeout = .seconds(1) }, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "root"),
        (
            "answer", applied { $0.answerTimeout = .seconds(1) }, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n",
            " 503 "
        ),
        (
            "requests", applied { $0.maximumRequestsPerConnection = 1 },
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "Connection: close"
        ),
        ("peers", applied { $0.maximumConnectionsPerPeer = 0 }, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""),
    ]

    @Test(arguments: cases.indices)
    func `a connection that opens after a change of the limits has the new ones`(index: Int) async throws {
        let test = Self.cases[index]
        try await withServer(sampleRoutes) { server in
            await server.server.apply(test.limits, toListener: 0)
            // A connection that closes while its request arrives is reset, which counts as an empty answer.
            let answer = (try? await server.exchange(test.request)) ?? ""
            #expect(test.answer.isEmpty ? answer.isEmpty : answer.contains(test.answer), "\(test.name)")
        }
    }

    @Test func `an open connection has the new limits from its next request on`() async throws {
        try await withServer(sampleRoutes) { server in
            let (isOpen, isApplied) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let answer = server.withConnection { connection in
                try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try connection.answer()
                isOpen.signal()
                isApplied.wait()
                try connection.send("GET /\(String(repeating: "a", count: 100)) HTTP/1.1\r\nHost: a\r\n\r\n")
                return try connection.rest()
            }
            try await onThread { isOpen.wait() }
            await server.server.apply(Self.applied { $0.maximumRequestLineBytes = 64 }, toListener: 0)
            isApplied.signal()
            #expect(try await answer.contains(" 414 "))
        }
    }

    @Test func `a limit of connections of a peer counts those that it had before`() async throws {
        try await withServer(sampleRoutes) { server in
            let (isOpen, isApplied) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let first: Void = server.withConnection { connection in
                try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try connection.answer()
                isOpen.signal()
                isApplied.wait()
            }
            try await onThread { isOpen.wait() }
            await server.server.apply(Self.applied { $0.maximumConnectionsPerPeer = 1 }, toListener: 0)
            // The second connection closes without an answer.
            let second = try? await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(second?.isEmpty ?? true)
            isApplied.signal()
            try await first
        }
    }
}
