import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import ConversationStore
import Glibc
import Simulator
import TestSupport
import Testing

/// `kill -9` at the two moments that matter; the handler puts a new token into each attempt, and none shows two.
@Suite struct KillTests {
    @Test func `killed between the 200 and the handler's answer, the message is delivered after a restart`()
        async throws
    {
        let rig = try await CrashRig()
        var server = try rig.launch(blocked: true)
        try await server.waitForListening()
        let customer = rig.customer(server)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        // The handler has been entered, so the 200 and the handler are both sides of this moment.
        try await server.waitForLine { $0 == "blocked" }
        await server.kill()

        server = try rig.launch()
        try await server.waitForListening()
        let replies = await rig.gateway.waitForMessages(customer: customer.id)
        #expect(replies.count == 1)
        #expect(replies.first?.message.root["body"]?.string?.hasSuffix("for hello") == true)
        try await rig.finish(server, customer, expected: ["inbound", "outbound"])
    }

    @Test func `killed between the gateway's acceptance and its record, the same reply is sent again`()
        async throws
    {
        let rig = try await CrashRig()
        var server = try rig.launch()
        try await server.waitForListening()
        let customer = rig.customer(server)
        // The gateway takes the reply and never says so.
        rig.gateway.misbehave(at: .message, .silence)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        let first = await rig.gateway.waitForMessages(customer: customer.id)
        #expect(first.count == 1)
        await server.kill()

        server = try rig.launch()
        try await server.waitForListening()
        try await rig.waitForRepeat(of: customer)
        let replies = rig.gateway.messages(for: customer.id)
        #expect(replies.map(\.repeats) == [1])
        #expect(replies.first?.message.bytes == first.first?.message.bytes)
        try await rig.finish(server, customer, expected: ["inbound", "outbound"])
    }
}

/// A gateway that outlives the servers, and the configuration that they share.
private struct CrashRig {
    let directory = TemporaryDirectory()
    let secret = Secret.random(byteCount: 32)
    let gateway: FakeGateway
    let transport: CurlTransport
    let log = LogCollector()

    init() async throws {
        transport = try CurlTransport()
        gateway = FakeGateway(mspID: ServerUnderTest.mspID, secret: secret, logger: log.logger)
        let address = try await gateway.start()
        mkdir(directory.file("businesses"), 0o700)
        try write("secret", Base64.encode(secret.bytes))
        try write(
            "server.json",
            """
            {"mspID": "\(ServerUnderTest.mspID)", "secret": {"file": "secret"}, "listen": "127.0.0.1:0",
             "dataDirectory": "\(directory.file("data"))",
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
        try ServerProcess(arguments: [directory.file("server.json")] + (blocked ? ["block"] : []))
    }

    func customer(_ server: ServerProcess) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID("urn:mbid:AQAA+/="), business: ServerUnderTest.business,
            server: "http://\(server.address ?? "")", mspID: ServerUnderTest.mspID, secret: secret,
            gateway: gateway.origin, transport: transport)
    }

    /// The gateway's own count of requests tells when the reply has come again.
    func waitForRepeat(of customer: SimulatedCustomer) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while gateway.messages(for: customer.id).first?.repeats != 1, ContinuousClock.now < deadline {
            await Task.yield()
        }
    }

    func finish(_ server: ServerProcess, _ customer: SimulatedCustomer, expected: [String]) async throws {
        #expect(try await server.terminate() == 0)
        await gateway.stop()
        let lines = try ConversationFiles(dataDirectory: directory.file("data")).lines(
            of: customer.business, customer.id)
        #expect(lines.map(\.direction.rawValue) == expected)
        #expect(lines.map(\.sequence) == Array(1...expected.count))
        let tokens = Set(gateway.messages(for: customer.id).compactMap { $0.message.root["body"]?.string })
        #expect(tokens.count == 1)
    }
}
