import BusinessMessages
import HandlerKit
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// Which stages of a delivery tell the customer, the bytes and the gateway's status.
@Suite struct StageDetailsTests {
    private struct Inspecting: StageObserver {
        var wantsDetails: Bool { true }
        func observe(_: StageEvent) {}
    }

    private struct Answering: TextHandler {
        func text(_: Text, _: Context) -> Outcome { .reply("yes") }
    }

    @Test(arguments: [true, false])
    func `a delivery's stages have the customer only for an observer that wants details`(
        wantsDetails: Bool
    ) async throws {
        let test = try await PipelineUnderTest(
            Answering(), observer: wantsDetails ? Inspecting() : nil)
        let running = test.run()
        await test.append("question", from: "c")
        await test.stages.first { $0.stage == .reply && $0.result == .done }
        await test.stages.first { $0.stage == .finish }
        await test.stop(running)
        let events = test.stages.events
        #expect(Set(events.map(\.stage)).isSuperset(of: [.decode, .record, .route, .handle, .reply]))
        for event in events {
            #expect((event.customer == CustomerID("c")) == wantsDetails, "\(event.stage)")
            #expect((event.bytes != nil) == wantsDetails, "\(event.stage)")
        }
        #expect(events.first { $0.stage == .reply }?.status == (wantsDetails ? 200 : nil))
    }
}
