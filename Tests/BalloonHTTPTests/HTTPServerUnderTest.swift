import BalloonPOSIX
import TestSupport

@testable import BalloonHTTP

/// A server on a port of its own.
struct HTTPServerUnderTest: Sendable {
    let server: HTTPServer
    let address: SocketAddress
    let log = LogCollector()

    init(
        _ routes: [HTTPRoute], at address: SocketAddress = .tcp(host: "127.0.0.1", port: 0), shards: Int = 2,
        limit: (inout HTTPLimits) -> Void = { _ in },
        describeRefusal: @escaping RefusalDescription = { HTTPContent(text: "\($0.status.reason)\n") }
    ) async throws {
        var limits = HTTPLimits()
        limit(&limits)
        let listener = HTTPListener(
            address, routes: routes, limits: limits, describeRefusal: describeRefusal)
        server = try HTTPServer(listeners: [listener], shards: shards, logger: log.logger)
        self.address = try await server.start()[0]
    }

    /// Sends `request` on a new connection; returns all received bytes.
    func exchange(_ request: String) async throws -> String {
        try await withConnection { connection in
            try connection.send(request)
            return try connection.rest()
        }
    }

    /// Sends `request` on a new connection; returns the first answer.
    func answer(_ request: String, hasBody: Bool = true) async throws -> Answer? {
        try await withConnection { connection in
            try connection.send(request)
            return try connection.answer(hasBody: hasBody)
        }
    }

    func withConnection<Result: Sendable>(
        _ body: @escaping @Sendable (RawConnection) throws -> Result
    ) async throws -> Result {
        let address = address
        return try await onThread { try body(RawConnection(address)) }
    }

    func stop() async { await server.stop(within: .seconds(60)) }
}

/// Serves `routes` while `body` runs.
func withServer(
    _ routes: [HTTPRoute], limit: (inout HTTPLimits) -> Void = { _ in },
    _ describeRefusal: @escaping RefusalDescription = { HTTPContent(text: "\($0.status.reason)\n") },
    _ body: (HTTPServerUnderTest) async throws -> Void
) async throws {
    let server = try await HTTPServerUnderTest(routes, limit: limit, describeRefusal: describeRefusal)
    do {
        try await body(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}

/// The routes of most tests.
let sampleRoutes = [
    HTTPRoute(.get, "/") { _, _ in HTTPResponse(.ok, text: "root") },
    HTTPRoute(.get, "/large") { _, _ in HTTPResponse(.ok, text: String(repeating: "x", count: 100_000)) },
    HTTPRoute(.get, "/later") { _, responder in
        Task.detached { responder.respond(HTTPResponse(.ok, text: "later")) }
        return nil
    },
    HTTPRoute(.get, "/never") { _, _ in nil },
    HTTPRoute(.get, "/below/*") { request, _ in HTTPResponse(.ok, body: Array(request.path)) },
    HTTPRoute(.post, "/echo", body: .collected(maximumBytes: 10)) { request, _ in
        HTTPResponse(.ok, body: Array(request.body))
    },
    HTTPRoute(.post, "/pull", body: .pulled(maximumBytes: 10)) { request, responder in
        guard let reader = request.bodyReader else { return HTTPResponse(.internalServerError) }
        Task.detached {
            var body: [UInt8] = []
            do {
                while let piece = try await reader.next() { body += piece }
                responder.respond(HTTPResponse(.ok, body: body))
            } catch HTTPStreamError.refused(let refusal) {
                responder.respond(HTTPResponse(refusal.status))
            }
        }
        return nil
    },
]

func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
}
