import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
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

    @Test(.timeLimit(.minutes(5)))
    func `a message that crashes the process is found although another business's handler never starts`()
        async throws
    {
        let restartable = try await RestartableServer(secondHandler: #"{"builtin": "dead"}"#)
        var server = try restartable.launch()
        try await server.waitForListening()
        // This message is leased first, and waits for its handler at every crash.
        let waiting = restartable.customer(server, business: ServerUnderTest.business(1))
        #expect(try await waiting.post(waiting.message(.text, text: "hello")).status == 200)
        #expect(await eventually { restartable.isDelivering })
        let customer = restartable.customer(server)
        _ = try? await customer.post(customer.message(.text, text: "crash"))
        #expect(await server.status() == 137)
        for _ in 2...4 {
            server = try restartable.launch()
            let start = ContinuousClock.now
            #expect(await server.status() == 137)
            // The other business's message keeps no other one waiting for 20 seconds.
            #expect(.now - start < .seconds(15))
        }
        server = try restartable.launch()
        try await server.waitForListening()
        let other = restartable.customer(server)
        #expect(try await other.post(other.message(.text, text: "hello")).status == 200)
        #expect(await restartable.gateway.waitForMessages(customer: other.id).count == 1)
        await restartable.finish(server)
        let dead = try JournalFiles(dataDirectory: restartable.data).events { $0.isDeadLetter }
        #expect(dead.map { $0.message["body"]?.string } == ["crash"])
    }

    /// `hang` exceeds the limit of the stop, `throw` ends within it, and after `kill` the process gets no time to stop.
    @Test(.timeLimit(.minutes(5)), arguments: ["hang", "throw", "kill"])
    func `requested stops count neither a crash nor an attempt`(_ end: String) async throws {
        let restartable = try await RestartableServer(shutdownSeconds: end == "kill" ? 60 : 1)
        var server = try restartable.launch(end == "kill" ? "hang" : end)
        try await server.waitForListening()
        let customer = restartable.customer(server)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        for _ in 1...5 {
            try await server.waitForLine { $0 == "blocked" }
            switch end {
            case "kill":
                server.signal(SIGTERM)
                try await server.waitForLine { $0.contains("server stopping") }
                await server.kill()
            case "hang": #expect(await server.terminate() == 1)
            // On a machine that stalls, the limit may pass first.
            default: #expect([0, 1].contains(await server.terminate()))
            }
            server = try restartable.launch(end == "kill" ? "hang" : end)
            try await server.waitForListening()
        }
        try await server.waitForLine { $0 == "blocked" }
        server.signal(SIGTERM)
        try await server.waitForLine { $0.contains("server stopping") }
        await server.kill()
        let event = try #require(try JournalFiles(dataDirectory: restartable.data).events { _ in true }.first)
        #expect((event.status, event.attempts) == (.pending, 0))
        server = try restartable.launch()
        try await server.waitForListening()
        #expect(await restartable.gateway.waitForMessages(customer: customer.id).count == 1)
        try await restartable.finish(server, customer, expected: ["inbound", "outbound"])
    }
}
