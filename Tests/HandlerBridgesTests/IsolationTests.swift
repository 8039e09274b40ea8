import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// One business's handler harms no other's, nor the server.
struct IsolationTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    /// How long each of `count` customers of the good business waits for an answer, in order of size.
    private func waits(_ server: BridgedServer, _ count: Int) async throws -> [Duration] {
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
    func `a handler that misbehaves delays nobody else's events, and its own wait in order`(_ fault: String)
        async throws
    {
        let good = #"{"exec": ["\#(Self.program)", "good"]}"#
        let directory = TemporaryDirectory()
        let gate = directory.file("gate")
        let binding =
            #"{"exec": ["\#(Self.program)", "\#(fault)"], "config": {"name": "bad", "gate": "\#(gate)"}}"#
        // Who is stuck is so until its gate opens: whoever waits for it waits for ever.
        let bad = #"{"handler": \#(binding), "deadlineSeconds": \#(fault == "stuck" ? 300 : 2)}"#
        let server = try await BridgedServer([bad, good], directory: directory, timings: .impatient)
        let quiet = try await waits(server, 8)
        // More than it may have under way at once.
        let victims = (0..<30).map { _ in server.customer(0) }
        for victim in victims {
            for text in ["first", "second"] {
                let message = #"{"type": "text", "body": "\#(text)"}"#
                #expect(try await victim.post(victim.message(completing: Array(message.utf8))).status == 200)
            }
        }
        await server.stages.first { $0.stage == .record && $0.business == BridgedServer.business(0) }
        let beside = try await waits(server, 8)
        // What one event costs in either case, on a machine that does other things too; a deadline is 2 s.
        #expect(
            beside[4] < quiet[4] * 20 + .milliseconds(200),
            "\(fault): \(quiet[4]) alone, \(beside[4]) beside it")
        #expect(try await server.readiness() == 200)
        // Replaced by one that works, it finds its events in their order.
        if ["stuck", "garbage"].contains(fault) {
            async let reloaded: Void = server.reload([
                #"{"exec": ["\#(Self.program)", "slow"], "config": {"name": "now", "seconds": 0}}"#, good,
            ])
            // It ends without an answer, and its event comes again.
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
