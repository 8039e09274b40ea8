import BalloonJSON
import BalloonTransport
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

@Suite struct StatusTests {
    @Test func `the control socket answers with the state of every business`() async throws {
        let handler = BlockingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text, text: "block")).status == 200)
        await handler.waitForBlocked(1)
        let answer = try await server.control("/status")
        #expect(answer.status == 200)
        let status = try #require(ServerStatus.form.value(answer.body))
        #expect(status.isReady)
        #expect(status.version == "unknown")
        #expect(status.checks.count == 13)
        #expect(status.businesses.map(\.name) == ["one", "two"])
        #expect(status.businesses.map(\.pending) == [1, 0])
        #expect(status.businesses.map(\.handler) == ["ready", "ready"])
        #expect(status.businesses[0].oldestSeconds != nil)
        #expect(status.businesses[1].oldestSeconds == nil)
        #expect(status.listeners.map(\.name) == ["public", "control", "admin"])
        #expect(status.listeners[1].connections == 1)
        #expect(status.journalBytes > 0)
        #expect(status.freeBytes ?? 0 > 0)
        #expect(status.minimumFreeBytes == 64 << 20)
        handler.release()
        await server.stop()
    }

    @Test func `a status is read from its own JSON`() throws {
        var status = ServerStatus(
            version: "1.0", uptimeSeconds: 5,
            checks: [
                ReadinessCheck("start", .ok), ReadinessCheck("disk", .failing(reason: "full")),
                ReadinessCheck("outbox", .degraded(reason: "waits")),
            ])
        var fish = ServerStatus.Business(name: "fish", handler: "starting")
        fish.downSeconds = 1
        fish.restarts = 2
        fish.pending = 3
        fish.oldestSeconds = 4
        fish.deadLetters = 5
        fish.outbox = 6
        fish.waiting = 7
        fish.person = 8
        status.businesses = [fish, ServerStatus.Business(name: "b-1", handler: "removed")]
        status.listeners = [ServerStatus.Listener(name: "public", connections: 9)]
        status.journalBytes = 10
        status.waitingBytes = 11
        status.freeBytes = 12
        status.minimumFreeBytes = 13
        #expect(ServerStatus.form.value(ServerStatus.form.json(status)) == status)
        #expect(!status.isReady)
        #expect(ServerStatus.form.value(Array("{}".utf8)) == nil)
    }
}
