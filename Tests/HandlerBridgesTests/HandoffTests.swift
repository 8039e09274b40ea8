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

    @Test func `a child gets no event while a person answers, and afterPerson with the next one`()
        async throws
    {
        let handler = #""handler": {"exec": ["\#(Self.program)", "handoff"]}"#
        let server = try await ServerUnderTest(bindings: [#"{\#(handler), "people": {"text": "Soon."}}"#])
        let customer = server.customer()
        let business = customer.business.rawValue
        func write(_ text: String) async throws {
            #expect(try await customer.post(customer.message(.text, text: text)).status == 200)
        }
        func texts(_ count: Int) async -> [String] {
            await server.gateway.waitForMessages(count: count, customer: customer.id)
                .compactMap { $0.message.root["body"]?.string }
        }
        try await write("a person, please")
        #expect(await texts(1) == ["A colleague answers soon."])
        try await write("hello?")
        await server.stages.count(2) { $0.stage == .finish }
        let message = #"{"type":"text","body":"This is Ana."}"#
        let sent = try await server.control(
            "/send", method: "POST",
            body: Array(
                #"{"business":"\#(business)","customer":"\#(customer.id.rawValue)","person":{"id":"ana"},"message":\#(message)}"#
                    .utf8))
        #expect(sent.status == 200)
        try await write("hello Ana")
        await server.stages.count(3) { $0.stage == .finish }
        let released = try await server.control(
            "/conversations/release", method: "POST",
            body: Array(
                #"{"job":"\#(ControlRoutes.newJob())","business":"\#(business)","customer":"\#(customer.id.rawValue)","to":"handler"}"#
                    .utf8))
        #expect(released.status == 200)
        try await write("thanks")
        #expect(await texts(3) == ["A colleague answers soon.", "This is Ana.", "after 2"])
        await server.stop()
        #expect(server.stages.events.count { $0.stage == .route } == 2)
    }
}
