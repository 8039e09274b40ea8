import BalloonPOSIX
import BusinessMessages
import Synchronization
import Testing

@testable import MessageStore

/// Senders wait while messages arrive faster than they are handled.
@Suite struct AnswerPaceTests {
    let directory = StoreDirectory()

    @Test(arguments: [
        (backlog: 0, milliseconds: 0), (4096, 0), (4097 + 81, 1), (4096 + 2048, 25), (8192, 50),
        (1_000_000, 50),
    ])
    func `the pause before a 200 grows with the backlog of the business, up to a maximum`(
        _ backlog: Int, _ milliseconds: Int
    ) {
        let pause = AnswerPace().pause(behind: backlog)
        #expect(pause.components.seconds == 0)
        #expect(pause.components.attoseconds / 1_000_000_000_000_000 == Int64(milliseconds))
    }

    @Test func `a business without a finished delivery in the last second counts as having no backlog`() {
        var ready = ReadyConversations()
        let other = BusinessID("other")
        ready.changeBacklog(of: business, by: 3)
        let second: UInt64 = 1_000_000_000
        #expect(ready.backlog(of: business, at: 10 * second) == 0)
        ready.recordEnd(of: business, wasParked: false, finishedAt: 10 * second)
        #expect(ready.backlog(of: business, at: 10 * second) == 2)
        #expect(ready.backlog(of: business, at: 11 * second - 1) == 2)
        #expect(ready.backlog(of: business, at: 11 * second) == 0)
        #expect(ready.backlog(of: other, at: 10 * second) == 0)
        // A parked delivery does not count in the backlog, neither while it waits nor when it ends.
        ready.changeBacklog(of: business, by: -1)
        #expect(ready.backlog(of: business, at: 10 * second) == 1)
        ready.recordEnd(of: business, wasParked: true, finishedAt: 10 * second)
        #expect(ready.backlog(of: business, at: 10 * second) == 1)
    }

    @Test(arguments: [(pause: Duration.seconds(3600), isAnswered: false), (.milliseconds(1), true)])
    func `the 200 is delayed only for a sender to a business with a backlog`(
        _ pause: Duration, _ isAnswered: Bool
    ) async throws {
        let store = try directory.open {
            $0.pace = AnswerPace(maximumUnpaced: 1, maximumPause: pause, workingTime: .seconds(3600))
        }
        for id in ["a", "b"] { #expect(await store.append(message(id)) == .stored) }
        try await store.finish(store.lease(), result: .handled)
        // The answer to the second message is delayed, because a delivery was just finished.
        let answers = Mutex(0)
        if isAnswered {
            #expect(await store.append(message("c")) == .stored)
        } else {
            store.append(message("c")) { _ in answers.withLock { $0 += 1 } }
        }
        let other = ReceivedMessage(
            business: BusinessID("other"), customer: customer, id: MessageID("d"), message: Array("{}".utf8))
        #expect(await store.append(other) == .stored)
        #expect(answers.withLock { $0 } == 0)
        #expect(store.statistics.pendingDeliveries == 3)
        await store.close()
    }
}
