import BalloonPOSIX
import Dispatch
import Glibc
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
        let proxy = OneRequestProxy()
        // On a busy machine the command may end before its request is sent, so repeat it until the proxy has one.
        let sent = try await Shell(directory: directory.path).run(
            "HTTPS_PROXY=http://127.0.0.1:\(proxy.port) balloon send --config server.json --to c --text x --wait 1"
        ) { _ in !proxy.requests.isEmpty }
        // The proxy refused, so the message stays queued.
        #expect(sent.status == 75, "\(sent.errors)")
        #expect(proxy.requests.first == "CONNECT gateway.example:443 HTTP/1.1")
    }
}

/// A proxy that refuses every tunnel and records the first line of each request.
private final class OneRequestProxy: Sendable {
    let port: UInt16
    private let seen: Mutex<[String]>
    private let listener: Int32

    init() {
        seen = Mutex([])
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) | listen(descriptor, 16)
                    | getsockname(descriptor, pointer, &length)
            }
        }
        precondition(status == 0, "no loopback port")
        port = UInt16(bigEndian: address.sin_port)
        DispatchQueue(label: "proxy").async { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { break }
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = recv(connection, &buffer, buffer.count, 0)
                let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
                if let line = text.split(separator: "\r\n").first { self?.note(String(line)) }
                let answer = Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".utf8)
                _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
                close(connection)
            }
            close(descriptor)
        }
    }

    /// The first line of each request so far.
    var requests: [String] { seen.withLock { $0 } }

    private func note(_ line: String) { seen.withLock { $0.append(line) } }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
