import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

@Suite struct ClosedConversationTests {
    @Test func `nothing is sent after a close until the customer writes again`() async throws {
        let server = try await ServerUnderTest()
        let customer = server.customer()
        for kind in [Kind.text, .close, .typingStart, .text, .typingEnd] {
            #expect(try await customer.post(customer.message(kind)).status == 200)
            if kind == .text { _ = await server.gateway.waitForMessages(customer: customer.id) }
            // The replies to the close and to the typing after it end before the customer writes again.
            if kind == .typingStart {
                await server.log.count(2) { $0.contains("the customer has closed the conversation") }
            }
        }
        let replies = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(
            replies.map { $0.message.root["body"]?.string } == [
                "seen: text", "seen: text", "seen: typingEnd",
            ])
        await server.stop()
        let outbound = try server.conversation(of: customer).filter { $0.direction == .outbound }
        #expect(outbound.map(\.outcome) == ["accepted", "dropped", "dropped", "accepted", "accepted"])
        #expect(outbound.map(\.status) == [200, nil, nil, 200, 200])
    }

    @Test func `a close that arrives during a handler call takes effect before its own delivery`()
        async throws
    {
        let handler = LateHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text, text: "block")).status == 200)
        await handler.blocking.waitForBlocked(1)
        #expect(try await customer.post(customer.message(.close)).status == 200)
        handler.blocking.release()
        await server.log.first { $0.contains("the customer has closed the conversation") }
        #expect(try await customer.post(customer.message(.text, text: "again")).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["late: again"])
        await server.stop()
        let outbound = try server.conversation(of: customer).filter { $0.direction == .outbound }
        #expect(outbound.map(\.outcome) == ["dropped", "accepted"])
    }
}

/// Answers every text; a text `block` only after it is released.
private struct LateHandler: TextHandler {
    let blocking = BlockingHandler()

    func text(_ text: Text, _ context: Context) -> Outcome {
        _ = blocking.text(text, context)
        return .reply("late: \(text.body)")
    }
}
