import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import ConversationStore
import Glibc
import HandlerKit
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
        (limits.handlerConcurrency, limits.handlerDeadline) = (1, .seconds(10))
        let handler = SlowHandler()
        let server = try await ServerUnderTest(handler, limits: limits)
        for customer in [server.customer(), server.customer()] {
            #expect(try await customer.post(customer.message(.text)).status == 200)
        }
        _ = await server.gateway.waitForMessages(count: 2)
        #expect(handler.rests.count == 2)
        #expect(handler.rests.allSatisfy { $0 > .milliseconds(9600) }, "\(handler.rests)")
        await server.stop()
    }
}

/// Takes a moment for each text, and counts how many it has at once.
private final class CountingHandler: TextHandler {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
        usleep(50_000)
        counts.withLock { $0.now -= 1 }
        return .reply("seen")
    }
}

/// Takes long for each text, and notes how much time it had for it.
private final class SlowHandler: TextHandler {
    private let noted = Mutex<[Duration]>([])

    var rests: [Duration] { noted.withLock { $0 } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        let rest = context.deadline - .now
        noted.withLock { $0.append(rest) }
        usleep(700_000)
        return .reply("seen")
    }
}
