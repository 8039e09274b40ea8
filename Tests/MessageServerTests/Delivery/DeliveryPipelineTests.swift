import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Dispatch
import Glibc
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct DeliveryPipelineTests {
    @Test func `a business has no more deliveries in flight than its limit`() async throws {
        let handler = CountingHandler()
        var test = try await PipelineUnderTest(handler)
        test.pipeline.maximumInFlight = 2
        for number in 0..<8 { await test.append("x", from: "c\(number)") }
        let running = test.run()
        _ = await test.gateway.waitForMessages(count: 8)
        #expect(handler.most == 2)
        await test.stop(running)
    }

    @Test
    func `a replayed event is marked, and has its line's number and time even when the history is shorter`()
        async throws
    {
        let handler = RecordingHandler()
        var test = try await PipelineUnderTest(handler)
        test.pipeline.conversationLength = 2
        for number in 1...4 { await test.append("message \(number)", from: "c") }
        let running = test.run()
        _ = await test.gateway.waitForMessages(count: 4)
        #expect(await eventually { test.store.statistics.pendingDeliveries == 0 })
        #expect(handler.seen.allSatisfy { !$0.isReplay })
        let files = JournalFiles(dataDirectory: test.directory.file("data"))
        let first = try #require(try files.events { _ in true }.map(\.record).min())
        _ = try await test.store.replay([first])
        _ = await test.gateway.waitForMessages(count: 5)
        let replay = try #require(handler.seen.last)
        #expect(replay.isReplay)
        #expect(replay.conversation.entries.allSatisfy { $0.id != replay.event.id })
        #expect(replay.seq == 1)
        let original = try #require(handler.seen.first { !$0.isReplay && $0.event.id == replay.event.id })
        #expect(replay.receivedAt == original.receivedAt)
        await test.stop(running)
    }

    @Test func `while the handler blocks, messages beyond the in-flight limit are recorded too`()
        async throws
    {
        let handler = BlockingHandler()
        var test = try await PipelineUnderTest(handler)
        test.pipeline.maximumInFlight = 1
        let running = test.run()
        for text in ["block", "second", "third"] { await test.append(text, from: "a") }
        await handler.waitForBlocked(1)
        await test.append("first", from: "b")
        let files = ConversationFiles(dataDirectory: test.directory.file("data"))
        let areRecorded = try await eventually {
            try zip(["a", "b"], [3, 1]).allSatisfy { customer, count in
                try files.lines(of: ServerUnderTest.business, CustomerID(customer)).count == count
            }
        }
        #expect(areRecorded)
        #expect(test.stages.events.allSatisfy { $0.stage != .finish })
        handler.release()
        await test.stop(running)
    }

    @Test func `a handler gets the next message while the previous reply waits`() async throws {
        let test = try await PipelineUnderTest(RecordingHandler())
        // The reply to the first message waits for the gateway.
        test.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: 4)
        await test.append("first", from: "c")
        await test.append("second", from: "c")
        let running = test.run()
        let sent = await test.gateway.waitForMessages(count: 2)
        #expect(sent.count == 2)
        await test.stop(running)
        let lines = try ConversationFiles(dataDirectory: test.directory.file("data"))
            .lines(of: ServerUnderTest.business, CustomerID("c"))
        // Both messages were recorded and handled before the first reply ended.
        #expect(lines.map(\.direction) == [.inbound, .inbound, .outbound, .outbound])
    }

    @Test func `a call's deadline begins when it gets a slot, not while it waits for one`() async throws {
        var limits = ServerLimits()
        (limits.handlerConcurrency, limits.handlerDeadline) = (1, .seconds(60))
        let handler = SlowHandler()
        let server = try await ServerUnderTest(handler) { $0.limits = limits }
        for customer in [server.customer(), server.customer()] {
            #expect(try await customer.post(customer.message(.text)).status == 200)
        }
        // Both events were dispatched, and one waits for the slot of the other.
        await server.log.count(2) { $0.contains("stage done") && $0.contains("stage=route") }
        handler.release.signal()
        _ = await server.gateway.waitForMessages(count: 2)
        let calls = handler.calls
        #expect(calls.count == 2)
        // The slot was free only after the first call returned.
        let (returned, deadline) = try (#require(calls.first).returned, #require(calls.last).deadline)
        #expect(deadline >= returned + .seconds(60))
        await server.stop()
    }
}

/// Holds each text until the maximum number of concurrent texts is reached, and slightly longer; counts them.
private final class CountingHandler: TextHandler {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
        // Wait until another text runs concurrently; then a third has time to arrive.
        let patience = ContinuousClock.now + .seconds(20)
        while most < 2, ContinuousClock.now < patience { usleep(1000) }
        usleep(50_000)
        counts.withLock { $0.now -= 1 }
        return .reply("seen")
    }
}

/// Holds the first text until it is released, and records every call's deadline and return.
private final class SlowHandler: TextHandler {
    typealias Call = (deadline: ContinuousClock.Instant, returned: ContinuousClock.Instant)
    let release = DispatchSemaphore(value: 0)
    private let noted = Mutex<[Call]>([])

    var calls: [Call] { noted.withLock { $0 } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        release.wait()
        noted.withLock { $0.append((context.deadline, .now)) }
        release.signal()
        return .reply("seen")
    }
}
