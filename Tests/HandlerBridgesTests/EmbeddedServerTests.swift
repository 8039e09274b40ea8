import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Simulator
import TestSupport
import Testing

/// Runs the example package's program as a server: `Server.run(configurationFile:handlers:)`.
struct EmbeddedServerTests {
    @Test func `a program that embeds the server answers with its own handler`() async throws {
        let directory = TemporaryDirectory()
        let log = LogCollector()
        let (mspID, secret) = ("11111111-2222-3333-4444-555555555555", Secret.random(byteCount: 32))
        let gateway = FakeGateway(mspID: mspID, secret: secret, logger: log.logger)
        let gatewayAddress = try await gateway.start()
        try Directory.make(directory.file("businesses"))
        let files = [
            "secret": Base64.encode(secret.bytes),
            "server.json": """
            {"mspID": "\(mspID)", "secret": {"file": "secret"}, "listen": "127.0.0.1:0",
             "dataDirectory": "\(directory.file("data"))",
             "gateway": {"url": "\(try #require(gateway.baseURL))", "downloadHosts": ["\(gatewayAddress)"]}}
            """,
            "businesses/shop.json": """
            {"businessID": "b-1", "name": "Shop",
             "handler": {"builtin": "shop", "config": {"question": "Bread or cake?"}}}
            """,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
        let server = try ChildProcess(buildDirectory + "/ShopExample", [directory.file("server.json")])
        let line = try await server.line { $0.contains("listening") }
        let address = try #require(line.split(separator: "address=").last?.split(separator: " ").first)
        let customer = SimulatedCustomer(
            id: CustomerID("urn:mbid:c"), business: BusinessID("b-1"), server: "http://\(address)",
            mspID: mspID,
            secret: secret, gateway: gateway.origin, transport: try CurlTransport())
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await gateway.waitForMessages(customer: customer.id)
        let data = replies.first?.message.root["interactiveData"]?["data"]
        #expect(data?["quick-reply"]?["summaryText"]?.string == "Bread or cake?")
        server.signal(TerminationSignal.polite)
        #expect(await server.status() == 0)
        await gateway.stop()
    }
}
