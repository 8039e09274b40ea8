import BalloonPOSIX
import BusinessMessages
import HandlerKit
import TestSupport
import Testing

@testable import MessageServer

@Suite(.timeLimit(.minutes(10))) struct InFlightTests {
    @Test func `events in a handler call are in flight, and waiting events count separately`() async throws {
        let business = BusinessHandler(
            business: BusinessID("b"), slug: "b", life: nil, concurrency: 2, deadline: .seconds(30),
            logger: LogCollector().logger)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let gate = ReadinessGate()
        #expect(business.inFlightCount == 0 && business.waitingCount == 0)
        await withDiscardingTaskGroup { group in
            for _ in 0..<5 {
                #expect(business.enter())
                group.addTask {
                    _ = try? await business.slots.run(within: .seconds(30)) {
                        begin.yield()
                        return await gate.wait()
                    }
                    business.leave()
                }
            }
            var beginnings = begun.makeAsyncIterator()
            for _ in 0..<2 { await beginnings.next() }
            #expect(business.inFlightCount == 2 && business.waitingCount == 3)
            gate.open()
        }
        #expect(business.inFlightCount == 0 && business.waitingCount == 0)
    }
}
