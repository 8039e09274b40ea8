import BalloonTransport
import BusinessMessages
import ConversationStore
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
        }
        let replies = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(
            replies.map { $0.message.root["body"]?.string } == [
                "seen: text", "seen: text", "seen: typingEnd",
            ])
        await server.stop()
        let outbound = try server.conversation(of: customer).filter { $0.direction == .outbound }
        #expect(outbound.map(\.outcome) == ["accepted", "failed", "failed", "accepted", "accepted"])
        #expect(outbound.map(\.status) == [200, nil, nil, 200, 200])
    }
}
