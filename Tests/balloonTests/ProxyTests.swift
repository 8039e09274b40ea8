import BalloonPOSIX
import Synchronization
import TestSupport
import Testing

@Suite struct ProxyTests {
    @Test func `requests to Apple use the environment's proxy`() async throws {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("businesses"))
        let files = [
            "server.json": #"""
            {"mspID":"msp","secret":{"file":"secret"},"dataDirectory":"data",
             "gateway":{"url":"https://gateway.example/v1"}}
            """#,
            "secret": "c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n",
            "businesses/shop.json": #"{"businessID":"b-1","name":"Shop","handler":{"builtin":"none"}}"#,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
        let seen = Mutex<[String]>([])
        // A proxy that refuses every tunnel.
        let proxy = LoopbackServer { request in
            seen.withLock { $0 += request.head.prefix(1) }
            return .answerAndClose("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        }
        // On a busy machine the command may end before its request is sent, so repeat it until the proxy has one.
        let sent = try await Shell(directory: directory.path).run(
            "HTTPS_PROXY=http://127.0.0.1:\(proxy.port) balloon send --config server.json --to c --text x --wait 1"
        ) { _ in seen.withLock { !$0.isEmpty } }
        // The proxy refused, so the message stays queued.
        #expect(sent.status == 75, "\(sent.errors)")
        #expect(seen.withLock { $0.first } == "CONNECT gateway.example:443 HTTP/1.1")
    }
}
