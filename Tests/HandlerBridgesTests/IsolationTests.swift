import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// The faults of one business's handler affect neither other businesses nor the server.
struct IsolationTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    /// The times that `count` customers of the healthy business wait for an answer, sorted.
    private func waits(_ server: ServerUnderTest, _ count: Int) async throws -> [Duration] {
        var waits: [Duration] = []
        for _ in 0..<count {
            let customer = server.customer(1)
            let begun = ContinuousClock.now
            #expect(try await customer.post(customer.message(.text)).status == 200)
            let replies = await server.gateway.waitForMessages(customer: customer.id)
            #expect(replies.first?.message.root["body"]?.string == "good 1")
            waits.append(.now - begun)
        }
        return waits.sorted()
    }

    @Test(arguments: ["stuck", "crash", "flood", "deaf", "garbage"])
    func `a faulty handler delays only its own events, which wait in order`(_ fault: String)
        async throws
    {
        let good = #"{"exec": ["\#(Self.program)", "good"]}"#
        let directory = TemporaryDirectory()
        let gate = directory.file("gate")
        let binding =
            #"{"exec": ["\#(Self.program)", "\#(fault)"], "config": {"name": "bad", "gate": "\#(gate)"}}"#
        // The deadline is long, so that an event that waits for the faulty handler waits for minutes.
        let bad = #"{"handler": \#(binding), "deadlineSeconds": 300}"#
        let server = try await ServerUnderTest(
            bindings: [bad, good], directory: directory, timings: .impatient)
        let quiet = try await waits(server, 8)
        // Send more events than the handler's concurrency limit.
        let victims = (0..<30).map { _ in server.customer(0) }
        for victim in victims {
            for text in ["first", "second"] {
                let message = #"{"type": "text", "body": "\#(text)"}"#
                #expect(try await victim.post(victim.message(completing: Array(message.utf8))).status == 200)
            }
        }
        await server.stages.first { $0.stage == .record && $0.business == ServerUnderTest.business(0) }
        let beside = try await waits(server, 8)
        // Both medians are the time of one event, although a busy machine may add seconds. Waiting for the
        // faulty handler would take up to its deadline of five minutes.
        #expect(
            beside[4] < quiet[4] * 20 + .seconds(5),
            "\(fault): \(quiet[4]) alone, \(beside[4]) beside it")
        #expect(try await server.readiness() == 200)
        // A working handler that replaces the faulty one receives the waiting events in order.
        if ["stuck", "garbage"].contains(fault) {
            async let reloaded: Void = server.reload([
                #"{"exec": ["\#(Self.program)", "slow"], "config": {"name": "now", "seconds": 0}}"#, good,
            ])
            // The opened gate ends the stuck handler without an answer, so its event is delivered again.
            try AtomicFile.write([], to: gate)
            await reloaded
            for victim in victims.suffix(2) {
                let replies = await server.gateway.waitForMessages(count: 2, customer: victim.id)
                let texts = replies.compactMap { $0.message.root["body"]?.string }
                #expect(texts == ["now: first", "now: second"])
            }
        }
        await server.stop(within: .seconds(5))
    }
}
