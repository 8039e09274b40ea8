import BalloonJSON
import BalloonTransport
import BusinessMessages
import ServerTestSupport
import Simulator
import Testing

/// Runs the example package's program as a server: `Server.run(configurationFile:handlers:)`.
struct EmbeddedServerTests {
    @Test func `a program that embeds the server answers with its own handler`() async throws {
        let shop = try await RestartableServer(
            "ShopExample", handler: #"{"builtin": "shop", "config": {"question": "Bread or cake?"}}"#)
        let server = try shop.launch()
        try await server.waitForListening()
        let customer = shop.customer(server)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await shop.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(replies.first?.message.root["body"]?.string == "Bread or cake?")
        await shop.finish(server)
    }
}
