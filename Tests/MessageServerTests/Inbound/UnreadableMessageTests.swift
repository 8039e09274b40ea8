import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Messages in the journal that the delivery path cannot read.
@Suite struct UnreadableMessageTests {
    @Test func `a message over a limit becomes a dead letter, and its conversation continues`()
        async throws
    {
        let directory = TemporaryDirectory()
        let customer = CustomerID("urn:mbid:deep")
        let depth = 300
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let answer = await withCheckedContinuation { continuation in
            store.append(
                ReceivedMessage(
                    business: ServerUnderTest.business, customer: customer, id: MessageID("deep"),
                    message: Array("{\"deep\":\(deep)}".utf8))
            ) { continuation.resume(returning: $0) }
        }
        #expect(answer == .stored)
        await store.close()

        let server = try await ServerUnderTest(directory: directory)
        let sender = server.customer(customer.rawValue)
        #expect(try await sender.post(sender.message(.text)).status == 200)
        #expect(await server.gateway.waitForMessages(customer: customer).count == 1)
        await server.stop()
        let dead = try JournalFiles(dataDirectory: directory.file("data")).events { $0.isDeadLetter }
        #expect(dead.map(\.id) == [MessageID("deep")])
        #expect(dead.first?.reason?.hasPrefix("the message is unreadable") == true)
        let lines = try server.conversation(of: sender)
        #expect(lines.map(\.direction) == [.inbound, .inbound, .outbound])
        #expect(lines.first?.kind == .unrecognized)
    }
}
