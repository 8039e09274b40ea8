import BalloonTransport
import BusinessMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// Hand-offs to a person by a handler outside the process.
struct HandoffTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    @Test func `the replies of a child's hand-off are sent before later replies`() async throws {
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["\#(Self.program)", "handoff"]}"#])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(try await customer.post(customer.message(.text, text: "corrected")).status == 200)
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id, within: .seconds(10))
        let sent = server.gateway.messages(for: customer.id).compactMap { $0.message.root["body"]?.string }
        #expect(sent == ["A colleague answers soon.", "corrected"])
        await server.stop()
    }
}
