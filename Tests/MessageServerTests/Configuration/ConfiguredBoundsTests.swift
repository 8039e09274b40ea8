import BalloonHTTP
import BalloonTransport
import BalloonWire
import BusinessMessages
import ServerTestSupport
import Simulator
import Testing

@testable import MessageServer

/// Each configured limit of the public listener, tested at the limit and one above it.
@Suite struct ConfiguredBoundsTests {
    @Test func `a request line is accepted up to its limit`() async throws {
        let target = { "/livez?" + String(repeating: "a", count: $0 - "GET /livez? HTTP/1.1".utf8.count) }
        try await expect(200, 414, set: { $0.maximumRequestLineBytes = 64 }) { server, extra in
            try await server.status(TransportRequest(url: server.url + target(64 + extra)))
        }
    }

    @Test func `a field line is accepted up to its limit`() async throws {
        try await expect(200, 431, set: { $0.maximumFieldLineBytes = 1024 }) { server, extra in
            try await server.status(fields: [("X", String(repeating: "a", count: 1021 + extra))])
        }
    }

    @Test func `fields are accepted up to their maximum count`() async throws {
        // The client adds Host and Accept.
        try await expect(200, 431, set: { $0.maximumFieldCount = 16 }) { server, extra in
            try await server.status(fields: Array(repeating: ("X", "a"), count: 14 + extra))
        }
    }

    @Test func `all fields together are accepted up to their limit`() async throws {
        try await expect(200, 431, set: { $0.maximumHeaderBytes = 4096 }) { server, extra in
            let host = server.url.dropFirst("http://".count)
            let own = "Host: \(host)\r\nAccept: */*\r\nX: \r\n".utf8.count
            return try await server.status(
                fields: [("X", String(repeating: "a", count: 4096 - own + extra))])
        }
    }

    @Test func `a body is accepted up to its limit`() async throws {
        var limits = ServerLimits()
        limits.maximumBodyBytes = 1024
        try await expect(401, 413, limits) { server, extra in
            let body = [UInt8](repeating: 0x20, count: 1024 + extra)
            return try await server.status(
                TransportRequest(method: "POST", url: server.url + "/message", body: body))
        }
    }

    @Test func `a decompressed body is accepted up to its limit`() async throws {
        var limits = ServerLimits()
        limits.maximumInflatedBytes = 5000
        limits.maximumInflationRatio = 1032
        // The body is blank: within the limit it is read completely, and refused because it is not a message.
        try await expect(400, 413, limits) { server, extra in
            let customer = server.customer()
            var request = try customer.request(carrying: customer.message(.text))
            request.body = GzipCompressor().compress([UInt8](repeating: 0x20, count: 5000 + extra))
            return try await server.transport.send(request).status
        }
    }

    @Test func `the last allowed request of a connection announces the close`() async throws {
        var http = HTTPLimits()
        http.maximumRequestsPerConnection = 2
        let server = try await ServerUnderTest { $0.http = http }
        var closes: [Bool] = []
        for _ in 0..<4 {
            let answer = try await server.transport.send(
                TransportRequest(url: server.url + "/livez", allowsPlainHTTP: true))
            closes.append(answer.headers.contains { $0.name.lowercased() == "connection" })
        }
        #expect(closes == [false, true, false, true])
        await server.stop()
    }

    /// Expects the status `within` at a limit, and the status `beyond` one above it.
    private func expect(
        _ within: Int, _ beyond: Int, _ limits: ServerLimits = ServerLimits(),
        set: (inout HTTPLimits) -> Void = { _ in },
        _ status: (ServerUnderTest, _ extra: Int) async throws -> Int
    ) async throws {
        var http = HTTPLimits()
        set(&http)
        let server = try await ServerUnderTest {
            $0.limits = limits
            $0.http = http
        }
        #expect(try await status(server, 0) == within)
        #expect(try await status(server, 1) == beyond)
        await server.stop()
    }
}

extension ServerUnderTest {
    fileprivate func status(fields: [(name: String, value: String)]) async throws -> Int {
        try await status(TransportRequest(url: url + "/livez", headers: fields))
    }

    fileprivate func status(_ request: TransportRequest) async throws -> Int {
        var request = request
        request.allowsPlainHTTP = true
        return try await transport.send(request).status
    }
}
