import FlyingFox
import FlyingSocks
import Foundation

// flyingfox: answers `ok` to GET /livez.

let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled)
await server.appendRoute("GET /livez") { _ in
    HTTPResponse(statusCode: .ok, headers: [.contentType: "text/plain"], body: Data("ok\n".utf8))
}
let running = Task { try await server.run() }
try await server.waitUntilListening()
if case .ip4(_, let port)? = await server.listeningAddress {
    print("listening on 127.0.0.1:\(port)")
    fflush(nil)
}
try await running.value
