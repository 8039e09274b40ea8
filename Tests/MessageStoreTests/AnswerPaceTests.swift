import BalloonPOSIX
import BusinessMessages
import Synchronization
import Testing

@testable import MessageStore

/// Senders wait while more comes than is handled.
@Suite struct AnswerPaceTests {
    let directory = StoreDirectory()

    @Test(arguments: [
        (backlog: 0, milliseconds: 0), (4096, 0), (4097 + 81, 1), (4096 + 2048, 25), (8192, 50),
        (1_000_000, 50),
    ])
    func `the pause grows with the backlog, up to its bound`(_ backlog: Int, _ milliseconds: Int) {
        let pause = AnswerPace().pause(behind: backlog)
        #expect(pause.components.seconds == 0)
        #expect(pause.components.attoseconds / 1_000_000_000_000_000 == Int64(milliseconds))
    }

    @Test func `a business has a backlog while something of it was finished within a second`() async {
        var queues = DeliveryQueues()
        let key = ConversationKey(business: business, customer: customer)
        let other = ConversationKey(business: BusinessID("other"), customer: customer)
        for record in UInt64(1)...3 {
            let location = RecordLocation(segment: 1, offset: 0, lengthBytes: 1)
            let pending = PendingDelivery(
                record: record, location: location, awaitsReference: false, isRecovered: false)
            _ = queues.add(pending, to: key)
        }
        let second: UInt64 = 1_000_000_000
        #expect(queues.backlog(beside: key, at: 10 * second) == 0)
        let lease = await withCheckedContinuation { waiting in
            let handover = queues.lease(for: business, or: LeaseWaiter(id: 1, continuation: waiting))
            waiting.resume(returning: handover?.lease)
        }
        #expect(lease?.pending.record == 1)
        _ = queues.finish(1, of: key, at: 10 * second)
        #expect(queues.backlog(beside: key, at: 10 * second) == 2)
        #expect(queues.backlog(beside: key, at: 11 * second - 1) == 2)
        #expect(queues.backlog(beside: key, at: 11 * second) == 0)
        #expect(queues.backlog(beside: other, at: 10 * second) == 0)
        // What is put aside holds nobody up, neither while it waits nor when its turn comes.
        #expect(queues.lease(for: business)?.pending.record == 2)
        #expect(queues.park(2, of: key)?.parked.record == 2)
        #expect(queues.backlog(beside: key, at: 10 * second) == 1)
        _ = queues.resume(2, of: key)
        #expect(queues.lease(for: business)?.pending.record == 2)
        #expect(queues.finish(2, of: key, at: 10 * second) != nil)
        #expect(queues.backlog(beside: key, at: 10 * second) == 1)
    }

    @Test(arguments: [(pause: Duration.seconds(3600), isAnswered: false), (.milliseconds(1), true)])
    func `who comes behind a backlog waits for a while, and nobody else does`(
        _ pause: Duration, _ isAnswered: Bool
    ) async throws {
        let store = try directory.open { $0.pace = AnswerPace(maximumUnpaced: 1, maximumPause: pause) }
        for id in ["a", "b"] { #expect(await store.append(message(id)) == .stored) }
        try await store.finish(store.lease(), result: .handled)
        // It is the second that waits, and something was just finished.
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
