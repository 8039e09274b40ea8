import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Dispatch
import Glibc
import HandlerKit
import MessageStore
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct DeliveryPipelineTests {
    @Test func `no more of a business's deliveries are under way than its bound`() async throws {
        let handler = CountingHandler()
        var test = try await PipelineUnderTest(handler)
        test.pipeline.maximumInFlight = 2
        for number in 0..<8 { await test.append("x", from: "c\(number)") }
        let running = Task { [pipeline = test.pipeline, lane = test.lane] in await pipeline.run(lane) }
        _ = await test.gateway.waitForMessages(count: 8)
        #expect(handler.most == 2)
        await test.stop(running)
    }

    @Test func `a reply that went out and could not be recorded has its line before the next goes`()
        async throws
    {
        let disk = FullDisk()
        let test = try await PipelineUnderTest(RecordingHandler(), disk: disk)
        await test.append("hello", from: "c")
        let delivery = try #require(await test.store.nextDelivery(for: ServerUnderTest.business))
        try await test.store.recordInbound(delivery, kind: .text, message: delivery.message)
        let replies = (0..<2).map { _ in
            let id = MessageID.random()
            let message = OutboundMessage.text("bread").encode(
                id: id, from: delivery.business, to: delivery.customer)
            return DecidedReply(id: id, kind: .text, message: message)
        }
        try await test.store.decide(delivery, DecidedOutcome(.handled, replies: replies))
        disk.full.withLock { $0 = .conversations }
        await #expect(throws: StoreError.self) {
            try await test.store.recordReply(delivery, index: 0, result: .accepted(status: 200))
        }
        disk.full.withLock { $0 = nil }
        test.store.postpone(delivery, after: .zero)
        let running = Task { [pipeline = test.pipeline, lane = test.lane] in await pipeline.run(lane) }
        _ = await test.gateway.waitForMessages(count: 1)
        await test.stop(running)
        let lines = try ConversationFiles(dataDirectory: test.directory.file("data"))
            .lines(of: delivery.business, delivery.customer)
        #expect(lines.map(\.id) == [delivery.id] + replies.map(\.id))
    }

    @Test func `a deadline begins with the slot, however long it was waited for`() async throws {
        var limits = ServerLimits()
        (limits.handlerConcurrency, limits.handlerDeadline) = (1, .seconds(60))
        let handler = SlowHandler()
        let server = try await ServerUnderTest(handler, limits: limits)
        for customer in [server.customer(), server.customer()] {
            #expect(try await customer.post(customer.message(.text)).status == 200)
        }
        // Both have been handed over, and one waits for the slot of the other.
        await server.log.count(2) { $0.contains("stage done") && $0.contains("stage=route") }
        handler.release.signal()
        _ = await server.gateway.waitForMessages(count: 2)
        let calls = handler.calls
        #expect(calls.count == 2)
        // The slot was free when the first had returned, and no earlier.
        let (returned, deadline) = try (#require(calls.first).returned, #require(calls.last).deadline)
        #expect(deadline >= returned + .seconds(60))
        await server.stop()
    }
}

/// Has each text until it has as many at once as it may, and for a moment longer; counts how many those are.
private final class CountingHandler: TextHandler {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
        // Until there was another one beside it; then a third has the time to come.
        let patience = ContinuousClock.now + .seconds(20)
        while most < 2, ContinuousClock.now < patience { usleep(1000) }
        usleep(50_000)
        counts.withLock { $0.now -= 1 }
        return .reply("seen")
    }
}

/// Has the first text until it is released, and notes every call's deadline and when it returned.
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
