import BalloonJSON
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Messages with more parts than are decoded, from the socket to the conversation.
@Suite struct MessageBoundsTests {
    @Test(arguments: [
        (#""attachments""#, 50_000, "50000 attachments; at most 100 are read"),
        (#""other""#, 20_000, "a list of 20000 elements; at most 1000 are read"),
    ])
    func `a message with too many parts is answered with 200, stored, and triggers no download`(
        _ name: String, _ count: Int, _ excess: String
    ) async throws {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let list = "[" + repeatElement("{}", count: count).joined(separator: ",") + "]"
        let message = #"{"v":1,"type":"text","body":"Look","attachments":[],\#(name):\#(list)}"#
        let body = try customer.message(completing: Array(message.utf8))
        var request = try customer.request(carrying: body)
        // Uncompressed: so many equal parts would be refused for their compression ratio.
        request.remove("content-encoding")
        request.body = body
        #expect(try await server.transport.send(request).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        await server.stop()
        let line = try #require(try server.conversation(of: customer).first)
        #expect(line.kind == .unrecognized)
        #expect(line.files.isEmpty)
        #expect(String(decoding: line.message.text, as: UTF8.self).contains(list))
        let events = server.stages.events
        #expect(!events.contains { $0.stage == .fetch })
        #expect(events.first { $0.stage == .decode }?.result == .ended("unrecognized: " + excess))
    }
}
