import BalloonPOSIX
import BalloonTLS
import COpenSSL
import Glibc
import TestSupport
import Testing

@testable import BalloonHTTP

@Suite struct TLSTests {
    private let certificate = Fixture.directory + "/tls/certificate.pem"

    @Test(arguments: [(TLS1_2_VERSION, "TLSv1.2"), (TLS1_3_VERSION, "TLSv1.3")])
    func `a request is answered with the configured certificate`(_ maximum: Int32, _ version: String)
        async throws
    {
        try await withTLSServer { address in
            let client = try TLSClient(address, trusting: certificate, maximum: maximum)
            #expect(client.version == version)
            #expect(client.agreedProtocol == "http/1.1")
            try client.send(get("/") + get("/later"))
            try client.send(get("/large", "Connection: close\r\n"))
            let answers = try client.rest()
            #expect(answers.ranges(of: "200 OK").count == 3)
            #expect(answers.contains("root") && answers.contains("later"))
            #expect(answers.hasSuffix(String(repeating: "x", count: 100_000)))
        }
    }

    @Test(arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func `old versions of TLS are refused`(_ maximum: Int32) async throws {
        try await withTLSServer { address in
            #expect(throws: TLSClient.Failure.handshake) {
                _ = try TLSClient(address, trusting: certificate, maximum: maximum)
            }
        }
    }

    @Test(arguments: [
        "AES128-SHA", "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256",
        "DHE-RSA-AES128-GCM-SHA256", "aNULL", "ECDHE-RSA-NULL-SHA",
    ])
    func `a cipher suite without forward secrecy or authenticated encryption is refused`(_ suite: String)
        async throws
    {
        try await withTLSServer { address in
            #expect(throws: TLSClient.Failure.handshake) {
                _ = try TLSClient(address, trusting: certificate, maximum: TLS1_2_VERSION, ciphers: suite)
            }
        }
    }

    @Test(arguments: [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
    ])
    func `a cipher suite with forward secrecy and authenticated encryption is accepted`(_ suite: String)
        async throws
    {
        try await withTLSServer { address in
            _ = try TLSClient(address, trusting: certificate, maximum: TLS1_2_VERSION, ciphers: suite)
        }
    }

    @Test func `the complete certificate chain is sent, so that a client needs only the root`() async throws {
        let credentials = try TLSCredentials(
            certificateFile: Fixture.directory + "/tls/chain.pem",
            keyFile: Fixture.directory + "/tls/chain-key.pem")
        try await withTLSServer(credentials) { address in
            let client = try TLSClient(address, trusting: Fixture.directory + "/tls/root.pem")
            #expect(client.chainLength == 2)
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a ticket resumes a session on any shard, until the certificate is reloaded`(_ maximum: Int32)
        async throws
    {
        let credentials = try TLSCredentials(
            certificateFile: certificate, keyFile: Fixture.directory + "/tls/key.pem")
        try await withTLSServer(credentials) { address in
            let first = try TLSClient(address, trusting: certificate, maximum: maximum)
            try first.send(get("/", "Connection: close\r\n"))
            #expect(try first.rest().hasSuffix("root"))
            #expect(!first.isResumed)
            var ticket = first.ticket()
            for _ in 0..<4 {
                let next = try TLSClient(address, trusting: certificate, maximum: maximum, resuming: ticket)
                #expect(next.isResumed)
                try next.send(get("/", "Connection: close\r\n"))
                #expect(try next.rest().hasSuffix("root"))
                // A client should use a ticket only once (RFC 8446 §C.4), so take the next one.
                ticket = next.ticket()
            }
            try credentials.reload()
            let last = try TLSClient(address, trusting: certificate, maximum: maximum, resuming: ticket)
            #expect(!last.isResumed)
        }
    }

    @Test func `a client that asks for another host name gets the same certificate`() async throws {
        try await withTLSServer { address in
            let client = try TLSClient(address, trusting: certificate, name: "elsewhere.example")
            try client.send(get("/", "Connection: close\r\n"))
            #expect(try client.rest().hasSuffix("root"))
        }
    }

    @Test func `a client that offers only other protocols is refused`() async throws {
        try await withTLSServer { address in
            #expect(throws: TLSClient.Failure.handshake) {
                _ = try TLSClient(address, trusting: certificate, protocols: ["h2"])
            }
            let client = try TLSClient(address, trusting: certificate, protocols: ["h2", "http/1.1"])
            #expect(client.agreedProtocol == "http/1.1")
        }
    }

    @Test func `plain HTTP is refused without effect on other connections`() async throws {
        try await withTLSServer { address in
            let plain = try RawConnection(address)
            try plain.send(get("/"))
            let answer = (try? plain.rest()) ?? ""
            #expect(!answer.contains("HTTP"))
            let client = try TLSClient(address, trusting: certificate)
            try client.send(get("/", "Connection: close\r\n"))
            #expect(try client.rest().hasSuffix("root"))
        }
    }

    @Test func `a large body is transferred in both directions`() async throws {
        try await withTLSServer { address in
            let client = try TLSClient(address, trusting: certificate)
            let body = String(repeating: "abcdefghij", count: 100_000)
            try client.send(
                "POST /mirror HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
            )
            try client.send(body)
            #expect(try client.rest().hasSuffix("\r\n\r\n" + body))
        }
    }

    @Test func `a new certificate is used for later connections`() async throws {
        let directory = TemporaryDirectory()
        let (chain, key) = (directory.file("certificate.pem"), directory.file("key.pem"))
        try copy("certificate.pem", to: chain)
        try copy("key.pem", to: key)
        let credentials = try TLSCredentials(certificateFile: chain, keyFile: key)
        try await withTLSServer(credentials) { address in
            let before = try TLSClient(address, trusting: certificate)
            try copy("other-certificate.pem", to: chain)
            try copy("other-key.pem", to: key)
            try credentials.reload()
            #expect(throws: TLSClient.Failure.handshake) {
                _ = try TLSClient(address, trusting: certificate)
            }
            _ = try TLSClient(address, trusting: Fixture.directory + "/tls/other-certificate.pem")
            try before.send(get("/", "Connection: close\r\n"))
            #expect(try before.rest().hasSuffix("root"))
        }
    }

    private func copy(_ name: String, to path: String) throws {
        let file = try #require(fopen(path, "wb"))
        let bytes = Fixture.bytes("tls/" + name)
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    private func withTLSServer(
        _ credentials: TLSCredentials? = nil, _ body: @escaping @Sendable (SocketAddress) throws -> Void
    ) async throws {
        let credentials =
            try credentials
            ?? TLSCredentials(certificateFile: certificate, keyFile: Fixture.directory + "/tls/key.pem")
        let mirror = HTTPRoute(.post, "/mirror", body: .collected(maximumBytes: 1 << 21)) { request, _ in
            HTTPResponse(.ok, body: Array(request.body))
        }
        let listener = HTTPListener(
            .tcp(host: "127.0.0.1", port: 0), routes: sampleRoutes + [mirror], tls: credentials)
        let server = try HTTPServer(listeners: [listener], shards: 2, logger: LogCollector().logger)
        let address = try await server.start()[0]
        let result = await Task { try await onThread { try body(address) } }.result
        await server.stop(within: .seconds(5))
        try result.get()
    }
}
