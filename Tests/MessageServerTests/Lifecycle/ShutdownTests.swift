import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Dispatch
import HandlerKit
import Simulator
import Testing

@testable import MessageServer

@Suite struct ShutdownTests {
    @Test
    func `a handler that never returns ends the process with 1 at the limit, and the log says what is left`()
        async throws
    {
        let rig = try await CrashRig(shutdownSeconds: 3)
        var server = try rig.launch("hang")
        try await server.waitForListening()
        let customer = rig.customer(server)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        try await server.waitForLine { $0 == "blocked" }
        let start = ContinuousClock.now
        #expect(try await server.terminate() == 1)
        #expect(.now - start < .seconds(30))
        try await server.waitForLine {
            $0.contains("did not stop in time") && $0.contains("handler_calls=1")
                && $0.contains("pending_deliveries=1")
        }

        // Acknowledged, so it is delivered by the next one.
        server = try rig.launch()
        try await server.waitForListening()
        #expect(await rig.gateway.waitForMessages(customer: customer.id).count == 1)
        try await rig.finish(server, customer, expected: ["inbound", "outbound"])
    }

    @Test func `an embedder's stop returns at its limit, and the handler's call is left`() async throws {
        let handler = HungHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        for await _ in handler.entered { break }
        #expect(await server.stopServer(within: .seconds(1)) == false)
        #expect(server.leftover?.handlerCalls == 1)
        handler.release()
        await server.stop()
    }

    @Test func `a value that does not come in time is nil, and one that comes is the value`() async {
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        let slow = Task<Int, Never> {
            // Not ended by the cancellation of who waits.
            for await _ in never {}
            return 1
        }
        #expect(await slow.value(within: .milliseconds(1)) == nil)
        end.finish()
        #expect(await slow.value(within: .seconds(60)) == 1)
    }
}

/// Blocks its thread until it is released.
private final class HungHandler: TextHandler, Sendable {
    let entered: AsyncStream<Void>
    private let enter: AsyncStream<Void>.Continuation
    private let gate = DispatchSemaphore(value: 0)

    init() { (entered, enter) = AsyncStream.makeStream() }

    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        enter.yield()
        block()
        return .handled
    }

    private func block() { gate.wait() }

    func release() { gate.signal() }
}
