import BalloonPOSIX
import BusinessMessages
import Synchronization
import Testing

@testable import MessageStore

/// Senders wait while messages arrive faster than they are handled.
@Suite struct AnswerPaceTests {
    let directory = StoreDirectory()

    @Test(arguments: [
        (backlog: 0, milliseconds: 0), (512, 0), (512 + 11, 1), (512 + 256, 25), (1024, 50),
        (1_000_000, 50),
    ])
    func `the pause before a 200 grows with the backlog of the business, up to a maximum`(
        _ backlog: Int, _ milliseconds: Int
    ) {
        let now: UInt64 = 10_000_000_000
        // Half of the backlog are deliveries, the rest are replies.
        let pause = AnswerPace().pause(
            behind: Backlog(count: backlog / 2, endedAt: now),
            Backlog(count: backlog - backlog / 2, endedAt: now), at: now)
        #expect(pause.components.seconds == 0)
        #expect(pause.components.attoseconds / 1_000_000_000_000_000 == Int64(milliseconds))
    }

    @Test func `deliveries or replies of which none ended in the last second do not count`() {
        let second: UInt64 = 1_000_000_000
        let working = Backlog(count: 8192, endedAt: 10 * second)
        let none = Backlog()
        let pace = AnswerPace()
        for (deliveries, replies) in [(working, none), (none, working)] {
            #expect(pace.pause(behind: deliveries, replies, at: 11 * second - 1) == .milliseconds(50))
            #expect(pace.pause(behind: deliveries, replies, at: 11 * second) == .zero)
        }
        #expect(pace.pause(behind: Backlog(count: 8192), Backlog(count: 8192), at: 10 * second) == .zero)
    }

    @Test func `a parked delivery does not count in the backlog, neither while it waits nor when it ends`() {
        func backlog(of name: BusinessID) -> Backlog? {
            let record = JournalledRecord(
                number: 1, location: RecordLocation(segment: 1, offset: 0, lengthBytes: 1))
            return quotas.add([
                Lease(
                    conversation: ConversationKey(business: name, customer: customer),
                    pending: PendingDelivery(record, awaitsReference: false, act: .writes))
            ]).first
        }
        let quotas = PendingQuotas()
        #expect((1...3).map { _ in backlog(of: business)?.count } == [1, 2, 3])
        quotas.recordEnd(of: business, wasParked: false, finishedAt: 10)
        #expect(backlog(of: business)?.count == 3)
        #expect(backlog(of: business)?.endedAt == 10)
        #expect(backlog(of: BusinessID("other"))?.count == 1)
        quotas.park(business)
        #expect(quotas.parkedCount == 1)
        #expect(backlog(of: business)?.count == 4)
        quotas.recordEnd(of: business, wasParked: true, finishedAt: 20)
        #expect(backlog(of: business)?.count == 5)
        #expect((quotas.parkedCount, quotas.count(of: business)) == (0, 5))
    }

    @Test func `queued replies count from the first that was sent until all are settled`() {
        var queue = OutboxQueue()
        for index in 0..<3 {
            queue.add(
                OutboxQueue.Entry(
                    id: ReplyID(record: 1, index: index),
                    conversation: ConversationKey(business: business, customer: customer),
                    decidedAt: Timestamp(milliseconds: 0), isTyping: false, place: .anywhere))
        }
        #expect(queue.backlog(of: business).count == 3)
        #expect(queue.backlog(of: business).endedAt == nil)
        _ = queue.settle(ReplyID(record: 1, index: 0), at: 7)
        #expect(queue.backlog(of: business).count == 2)
        #expect(queue.backlog(of: business).endedAt == 7)
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

    @Test func `the 200 is delayed while replies are queued, although no delivery waits`() async throws {
        let store = try directory.open {
            $0.pace = AnswerPace(maximumUnpaced: 2, maximumPause: .seconds(3600), workingTime: .seconds(3600))
        }
        #expect(await store.append(message("a")) == .stored)
        let first = try await store.lease()
        let replies = (0..<4).map { number in
            DecidedReply(
                id: MessageID("r\(number)"), kind: .text,
                message: Array(#"{"id":"r\(number)","type":"text"}"#.utf8))
        }
        try await store.decide(first, DecidedOutcome(.handled, replies: replies))
        try await store.finish(first, result: .handled)
        // No reply has ended yet, so the queued ones do not count.
        #expect(await store.append(message("b")) == .stored)
        try await store.finish(store.lease(), result: .handled)
        try await store.settle(#require(store.leaseReply()), .accepted(status: 200))
        let answers = Mutex(0)
        store.append(message("c")) { _ in answers.withLock { $0 += 1 } }
        let other = ReceivedMessage(
            business: BusinessID("other"), customer: customer, id: MessageID("d"), message: Array("{}".utf8))
        #expect(await store.append(other) == .stored)
        #expect(answers.withLock { $0 } == 0)
        #expect(store.statistics.pendingDeliveries == 2)
        await store.close()
    }
}
