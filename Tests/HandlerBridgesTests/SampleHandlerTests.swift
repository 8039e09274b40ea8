import BalloonJSON
import BalloonTransport
import BusinessMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

/// The samples in `config/handlers`: each serves a customer through the whole shop.
struct SampleHandlerTests {
    private static let steps: [(Kind, String)] = [
        (.text, "quick-reply"), (.quickReply, "listPicker"), (.listPicker, "event"), (.timePicker, "dynamic"),
    ]

    @Test(arguments: ["python/shop.py", "node/shop.mjs", "shell/shop.sh", "swift"])
    func `a sample answers every step of the conversation`(_ name: String) async throws {
        let program =
            name == "swift" ? buildDirectory + "/ShopExample" : Fixture.sampleHandlers + "/" + name
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["\#(program)"]}"#])
        let customer = server.customer()
        for (step, (kind, payload)) in Self.steps.enumerated() {
            #expect(try await customer.post(customer.message(kind)).status == 200)
            // A text comes before the first question, whose summary the device does not show.
            let replies = await server.gateway.waitForMessages(count: step + 2, customer: customer.id)
            #expect(replies.first?.message.root["type"]?.string == "text")
            let last = try #require(replies.last)
            let root = last.message.root
            #expect(root["interactiveData"]?["data"]?[payload] != nil, "the answer to \(kind)")
            #expect(root["destinationId"]?.string == customer.id.rawValue)
            #expect(root["sourceId"]?.string == customer.business.rawValue)
            #expect(root["v"]?.int == 1)
        }
        #expect(try await customer.post(customer.message(.form)).status == 200)
        let replies = await server.gateway.waitForMessages(count: 6, customer: customer.id)
        // All samples but the one in shell keep the choice in their state, by its title or by its identifiers.
        let bread = ["swift": "Apples", "shell/shop.sh": "bread"][name] ?? "apple-1 and pear-1"
        #expect(replies.last?.message.root["body"]?.string == "Thank you! Your \(bread) will be ready.")
        await server.stop()
        #expect(
            server.log.lines.contains { $0.contains("handler process ended") && $0.contains("status(0)") })
    }
}
