import BalloonJSON
import BalloonTransport
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// The fallback's answers while a handler is down.
struct FallbackTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    private func body(of customer: SimulatedCustomer, _ server: ServerUnderTest, _ count: Int) async
        -> String?
    {
        let replies = await server.gateway.waitForMessages(count: count, customer: customer.id)
        return replies.last?.message.root["body"]?.string
    }

    @Test func `a fallback text is sent once while a program is down, and then the handler answers again`()
        async throws
    {
        let fallback = #""fallback": {"text": "An agent will reply soon.", "afterSeconds": 1}"#
        let down = #"{"handler": {"exec": ["./missing"]}, \#(fallback)}"#
        let server = try await ServerUnderTest(bindings: [down])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await body(of: customer, server, 1) == "An agent will reply soon.")
        // The next text gets no second fallback text: the fallback text is not repeated until another message
        // was sent.
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(try await customer.post(customer.message(.typingStart)).status == 200)
        await server.log.first { $0.contains("its fallback answers") }
        await server.reload([#"{"handler": {"exec": ["\#(Self.program)", "good"]}, \#(fallback)}"#])
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await body(of: customer, server, 2)?.hasPrefix("good") ?? false)
        #expect(try await server.readiness() == 200)
        await server.stop()
    }

    @Test func `a fallback handler answers while a service is down`() async throws {
        let port = RefusingPort()
        let server = try await ServerUnderTest(bindings: [
            """
            {"handler": {"http": {"url": "\(port.origin)/", "secret": {"env": "HOOK"}}},
             "fallback": {"handler": {"exec": ["\(Self.program)", "good"]}, "afterSeconds": 0}}
            """
        ])
        // The service counts as down after three failures, so each of the three events is sent to the service
        // first.
        let customers = (0..<3).map { _ in server.customer() }
        for customer in customers { #expect(try await customer.post(customer.message(.text)).status == 200) }
        for customer in customers { #expect(await body(of: customer, server, 1)?.hasPrefix("good") ?? false) }
        #expect(server.stages.events.contains { $0.stage == .handle && $0.attempt == 1 })
        await server.stop()
    }
}
