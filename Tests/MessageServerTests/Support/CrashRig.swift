import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Glibc
import MessageStore
import Simulator
import TestSupport
import Testing

/// A gateway that outlives the servers, and their common configuration.
struct CrashRig {
    let directory = TemporaryDirectory()
    let secret = Secret.random(byteCount: 32)
    let gateway: FakeGateway
    let transport: CurlTransport
    let log = LogCollector()

    init(shutdownSeconds: Int = 25) async throws {
        transport = try CurlTransport()
        gateway = FakeGateway(
            mspID: ServerUnderTest.mspID, secret: secret, maximumMessages: 1_000_000, logger: log.logger)
        let address = try await gateway.start()
        mkdir(directory.file("businesses"), 0o700)
        try write("secret", Base64.encode(secret.bytes))
        try write(
            "server.json",
            """
            {"mspID": "\(ServerUnderTest.mspID)", "secret": {"file": "secret"}, "listen": "127.0.0.1:0",
             "shutdownSeconds": \(shutdownSeconds), "dataDirectory": "\(data)",
             "gateway": {"url": "http://\(address)/v1", "downloadHosts": ["\(address)"]}}
            """)
        try write(
            "businesses/one.json",
            """
            {"businessID": "\(ServerUnderTest.business.rawValue)", "name": "One", "handler": {"builtin": "token"}}
            """)
    }

    private func write(_ name: String, _ text: String) throws {
        let file = Descriptor(owning: open(directory.file(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
        try file.writeAll(Array(text.utf8))
    }

    func launch(blocked: Bool = false) throws -> ServerProcess {
        try blocked ? launch("block") : ServerProcess(arguments: [directory.file("server.json")])
    }

    /// Starts a server with the handler behaviour that `CrashTestServer` defines for the word.
    func launch(_ behaviour: String) throws -> ServerProcess {
        try ServerProcess(arguments: [directory.file("server.json"), behaviour])
    }

    var data: String { directory.file("data") }

    /// Whether a server is writing its journal's snapshot, or what else it replaces in the data directory.
    @Sendable func isWritingSnapshot() -> Bool {
        // A folder that cannot be listed has none.
        let names = (try? Directory.names(in: data)) ?? []
        return names.contains { $0.hasPrefix("snapshot.") }
    }

    func customer(
        _ server: ServerProcess, id: CustomerID = CustomerID("urn:mbid:AQAA+/=")
    ) -> SimulatedCustomer {
        SimulatedCustomer(
            id: id, business: ServerUnderTest.business,
            server: "http://\(server.address ?? "")", mspID: ServerUnderTest.mspID, secret: secret,
            gateway: gateway.origin, transport: transport)
    }

    /// Waits until the server has finished every delivery and every reply.
    func waitForTheEnd() async throws {
        var request = TransportRequest(url: "http://localhost/statistics", allowsPlainHTTP: true)
        request.unixSocket = data + "/control.sock"
        let hasEnded = try await eventually(within: .seconds(120)) {
            let counts = try JSONDocument(try await transport.send(request).body).root
            return counts["pendingDeliveries"]?.int == 0 && counts["queuedReplies"]?.int == 0
        }
        #expect(hasEnded, "some deliveries have not ended")
    }

    /// Waits until the gateway's request count shows the repeated reply.
    func waitForRepeat(of customer: SimulatedCustomer) async throws {
        _ = await eventually(within: .seconds(120)) { gateway.messages(for: customer.id).first?.repeats == 1 }
    }

    /// Stops the server with SIGTERM, then the gateway.
    func finish(_ server: ServerProcess) async throws {
        #expect(try await server.terminate() == 0)
        await gateway.stop()
    }

    /// Whether no line of a conversation's file is torn.
    func endsWithLineFeed(_ conversation: ConversationFiles.Summary) throws -> Bool {
        let name = Hex.encode(SHA256.hash(conversation.customer.rawValue.utf8))
        let path = "\(data)/conversations/\(conversation.business.rawValue)/\(name.prefix(2))/\(name).jsonl"
        return try File(path, for: .reading).readAll().last == UInt8(ascii: "\n")
    }

    func finish(_ server: ServerProcess, _ customer: SimulatedCustomer, expected: [String]) async throws {
        try await finish(server)
        let lines = try ConversationFiles(dataDirectory: data).lines(
            of: customer.business, customer.id)
        #expect(lines.map(\.direction.rawValue) == expected)
        #expect(lines.map(\.sequence) == Array(1...expected.count))
        let tokens = Set(gateway.messages(for: customer.id).compactMap { $0.message.root["body"]?.string })
        #expect(tokens.count == 1)
    }
}
