import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Dispatch
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite(.timeLimit(.minutes(10))) struct ShutdownTests {
    @Test
    func
        `a handler that never returns ends the process with 1 at the limit, and the unfinished work is logged`()
        async throws
    {
        let restartable = try await RestartableServer(shutdownSeconds: 3)
        var server = try restartable.launch("hang")
        try await server.waitForListening()
        let customer = restartable.customer(server)
        #expect(try await customer.post(customer.message(.text, text: "hello")).status == 200)
        try await server.waitForLine { $0 == "blocked" }
        let start = ContinuousClock.now
        #expect(await server.terminate() == 1)
        #expect(.now - start < .seconds(30))
        try await server.waitForLine {
            $0.contains("did not stop in time") && $0.contains("handler_calls=1")
                && $0.contains("pending_deliveries=1") && $0.contains("queued_replies=0")
        }

        // The message was acknowledged, so the next process delivers it.
        server = try restartable.launch()
        try await server.waitForListening()
        #expect(await restartable.gateway.waitForMessages(customer: customer.id).count == 1)
        try await restartable.finish(server, customer, expected: ["inbound", "outbound"])
    }

    @Test func `an embedder's stop returns at its limit, and the handler's call continues`() async throws {
        let handler = HungHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        for await _ in handler.entered { break }
        #expect(await server.stopServer(within: .seconds(1)) == false)
        #expect(server.leftover.handlerCalls == 1)
        handler.release()
        await server.stop()
    }

    @Test func `a stop returns at its limit though a sync never ends`() async throws {
        let disk = HangingDisk()
        let server = try await ServerUnderTest(disk: disk)
        let customer = server.customer()
        disk.hold()
        // The answer to this message waits for the sync.
        let post = Task { try await customer.post(customer.message(.text)).status }
        for await _ in disk.held { break }
        let start = ContinuousClock.now
        #expect(await server.stopServer(within: .seconds(2)) == false)
        #expect(.now - start < .seconds(30))
        #expect(server.leftover.queuedReplies == 0)
        disk.release()
        // The post fails without an answer, or gets an answer that came too late; the test needs neither.
        _ = try? await post.value
        await server.stop()
    }

    @Test func `a stop says how many replies were not sent`() async throws {
        let server = try await ServerUnderTest()
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: 10_000)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        await server.log.first { $0.contains("delivery postponed") && $0.contains("stage=reply") }
        #expect(server.leftover.queuedReplies == 1)
        #expect(await server.stopServer(within: .seconds(60)) == true)
        #expect(
            server.log.lines.contains {
                $0.contains("stopping with unsent replies; the next start sends them")
                    && $0.contains("count=1")
            })
        await server.stop()
    }

    @Test func `the wait for a task's value returns it in time, and nil at the timeout`() async {
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        let slow = Task<Int, Never> {
            // The task ends only with the stream, not when its waiter is cancelled.
            for await _ in never {}
            return 1
        }
        #expect(await slow.value(within: .milliseconds(1)) == nil)
        end.finish()
        #expect(await slow.value(within: .seconds(60)) == 1)
    }
}

/// A disk whose syncs do not end from ``hold()`` to ``release()``.
private final class HangingDisk: StoreDisk {
    let held: AsyncStream<Void>
    private let holds: AsyncStream<Void>.Continuation
    private let gate = Mutex<DispatchSemaphore?>(nil)
    private let disk = SystemDisk()

    init() { (held, holds) = AsyncStream.makeStream() }

    func hold() { gate.withLock { $0 = DispatchSemaphore(value: 0) } }

    func release() {
        gate.withLock { gate in
            // These are more signals than there are threads that sync.
            for _ in 0..<64 { gate?.signal() }
            gate = nil
        }
    }

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }

    func synchronize(_ file: File) throws(SystemError) {
        if let gate = gate.withLock({ $0 }) {
            holds.yield()
            gate.wait()
        }
        try disk.synchronize(file)
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
