import BalloonHTTP
import BalloonPOSIX
import TestSupport

/// A server that answers 202 to `/message`, and returns the received body.
struct EchoServer {
    let origin: String
    private let server: HTTPServer

    init() async throws {
        let route = HTTPRoute(.post, "/message", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            HTTPResponse(.accepted, body: Array(request.body))
        }
        let listener = HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [route])
        server = try HTTPServer(listeners: [listener], shards: 1, logger: LogCollector().logger)
        origin = "http://\(try await server.start()[0])"
    }

    func stop() async { await server.stop(within: .seconds(1)) }
}
