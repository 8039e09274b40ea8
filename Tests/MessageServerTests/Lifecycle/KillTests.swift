import BalloonJSON
import BalloonTransport
import BusinessMessages
import ServerTestSupport
import Simulator
import Testing

/// `kill -9` at the two critical moments; the handler puts a new token into each attempt, so that two sent
/// attempts are visible.
@Suite struct KillTests {
    @Test func `after a kill between the 200 and the handler's answer, the restart delivers the message`()
        async throws
    {
        let restartable = try await RestartableServer()
        var server = try restartable.launch("block")
        try await server.waitForListening()
        let customer = restartable.customer(server)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        // The handler was called, so the 200 was sent and the handler has not answered.
        try await server.waitForLine { $0 == "blocked" }
        await server.kill()

        server = try restartable.launch()
        try await server.waitForListening()
        let replies = await restartable.gateway.waitForMessages(customer: customer.id)
        #expect(replies.count == 1)
        #expect(replies.first?.message.root["body"]?.string?.hasSuffix("for hello") == true)
        try await restartable.finish(server, customer, expected: ["inbound", "outbound"])
    }

    @Test func `after a kill between the gateway's acceptance and its record, the same reply is sent again`()
        async throws
    {
        let restartable = try await RestartableServer()
        var server = try restartable.launch()
        try await server.waitForListening()
        let customer = restartable.customer(server)
        // The gateway accepts the reply and never answers.
        restartable.gateway.misbehave(at: .message, .silence)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        let first = await restartable.gateway.waitForMessages(customer: customer.id)
        #expect(first.count == 1)
        await server.kill()

        server = try restartable.launch()
        try await server.waitForListening()
        try await restartable.waitForRepeat(of: customer)
        let replies = restartable.gateway.messages(for: customer.id)
        #expect(replies.map(\.repeats) == [1])
        #expect(replies.first?.message.bytes == first.first?.message.bytes)
        try await restartable.finish(server, customer, expected: ["inbound", "outbound"])
    }

    @Test func `an event that alone crashed the process three times becomes a dead letter`()
        async throws
    {
        let restartable = try await RestartableServer()
        var server = try restartable.launch()
        try await server.waitForListening()
        let customer = restartable.customer(server)
        // The process may end before the 200 is sent; the message is on disk before the handler gets it.
        _ = try? await customer.post(customer.message(.text, text: "crash"))
        #expect(await server.status() == 137)
        // The first crash may be counted for any delivery; the next three only for this one.
        for _ in 2...4 {
            server = try restartable.launch()
            #expect(await server.status() == 137)
        }
        server = try restartable.launch()
        try await server.waitForListening()
        let other = restartable.customer(server)
        #expect(try await other.post(other.message(.text, text: "hello")).status == 200)
        #expect(await restartable.gateway.waitForMessages(customer: other.id).count == 1)
        try await restartable.finish(server, other, expected: ["inbound", "inbound", "outbound"])
    }
}
