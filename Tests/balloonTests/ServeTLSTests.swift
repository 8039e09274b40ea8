import BalloonPOSIX
import TestSupport
import Testing

/// Tests `balloon serve` with a certificate of its own instead of a proxy that terminates TLS.
@Suite struct ServeTLSTests {
    @Test func `a webhook is received over https, and a new certificate is used after SIGHUP`() async throws {
        let directory = TemporaryDirectory()
        try configure(directory)
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand(
            "serve --config config/server.json --data kept", in: directory, log: "2>&1")
        let address = try #require(SocketAddress(server.address))
        let token = try await shell.run("balloon token sign --config config/server.json")
        let post = webhook(token: token.output.split(separator: "\n").first ?? "")

        let answer = try await onThread { try ask(address, trusting: "certificate.pem", post) }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK"))
        let health = try await shell.run("balloon healthcheck --listen \(address) --data kept")
        #expect(health.status == 0, "\(health.errors)")
        let ill = try await shell.run("balloon healthcheck --listen \(address) --data other")
        #expect(ill.status == 1)

        try install("other-certificate.pem", "other-key.pem", in: directory)
        server.hangUp()
        _ = try #require(await server.output(until: "certificate reloaded"))
        #expect(try await isServed(address, "other-certificate.pem"))
        #expect(try await !isServed(address, "certificate.pem"))

        try install("certificate.pem", "other-key.pem", in: directory)
        server.hangUp()
        let said = try #require(await server.output(until: "certificate not reloaded"))
        #expect(said.contains("\"level\":\"error\"") && said.contains("mismatch"))
        #expect(try await isServed(address, "other-certificate.pem"))
        await server.stop()
        let list = try await shell.run("balloon conversations list --data kept")
        #expect(list.output.hasSuffix("  1  b-1  urn:mbid:customer\n"))
    }

    private func configure(_ directory: TemporaryDirectory) throws {
        // The server watches the configuration's folder. The certificate is in another folder, because this test is
        // about the reload at SIGHUP.
        try Directory.make(directory.file("config/businesses"))
        try Directory.make(directory.file("tls"))
        let server = """
            {"mspID":"msp","secret":{"file":"secret"},"listen":"127.0.0.1:0","adminListen":"off",
             "tls":{"certificateFile":"../tls/certificate.pem","keyFile":"../tls/key.pem"}}
            """
        let files = [
            "server.json": server, "secret": "c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n",
            "businesses/silent.json": #"{"businessID":"b-1","name":"Silent","handler":{"builtin":"none"}}"#,
        ]
        for (name, text) in files {
            try AtomicFile.write(Array(text.utf8), to: directory.file("config/" + name))
        }
        try install("certificate.pem", "key.pem", in: directory)
    }

    private func install(_ certificate: String, _ key: String, in directory: TemporaryDirectory) throws {
        try AtomicFile.write(Fixture.bytes("tls/" + certificate), to: directory.file("tls/certificate.pem"))
        try AtomicFile.write(Fixture.bytes("tls/" + key), to: directory.file("tls/key.pem"))
    }
}

private let live = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

private func webhook(token: Substring) -> String {
    let body =
        #"{"v":1,"type":"text","id":"m-1","sourceId":"urn:mbid:customer","destinationId":"b-1","body":"Hi"}"#
    return """
        POST /message HTTP/1.1\r
        Host: localhost\r
        Authorization: Bearer \(token)\r
        id: m-1\r
        source-id: urn:mbid:customer\r
        destination-id: b-1\r
        Content-Type: application/json\r
        Content-Length: \(body.utf8.count)\r
        Connection: close\r
        \r
        \(body)
        """
}

/// Whether the server answers a client that trusts only this certificate.
private func isServed(_ address: SocketAddress, _ certificate: String) async throws -> Bool {
    try await onThread {
        do {
            return try ask(address, trusting: certificate, live).hasPrefix("HTTP/1.1 200 OK")
        } catch TLSClient.Failure.handshake {
            return false
        }
    }
}

private func ask(_ address: SocketAddress, trusting certificate: String, _ request: String) throws -> String {
    let client = try TLSClient(address, trusting: Fixture.directory + "/tls/" + certificate)
    try client.send(request)
    return try client.rest()
}
