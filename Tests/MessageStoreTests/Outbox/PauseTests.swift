import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// The pauses for typing indicators before replies.
@Suite struct PauseTests {
    private let now = Timestamp(milliseconds: 1_000_000)
    private let first = ConversationKey(business: business, customer: customer)

    private func later(_ seconds: Double) -> Timestamp { now.advanced(by: .seconds(seconds)) }
    private func id(_ record: UInt64) -> ReplyID { ReplyID(record: record, index: 0) }

    private func entry(
        _ record: UInt64, pause seconds: Double? = 2, until end: Double? = nil, isTyping: Bool = false,
        decidedAt: Double = 0
    ) -> OutboxQueue.Entry {
        OutboxQueue.Entry(
            id: id(record), conversation: first, decidedAt: later(decidedAt), isTyping: isTyping,
            place: .anywhere,
            pause: seconds.map {
                OutboxQueue.Pause(
                    length: .seconds($0), decidedAt: later(decidedAt), end: end.map { later($0) })
            })
    }

    private func lease(_ queue: inout OutboxQueue, _ seconds: Double) -> UInt64? {
        queue.lease(.any(), at: later(seconds))?.id.record
    }

    @Test func `a reply waits from its decision, the next one from the end of the reply before it`() {
        var queue = OutboxQueue()
        queue.add(entry(1))
        queue.add(entry(2))
        #expect(lease(&queue, 0.5) == nil)
        #expect(
            queue.takeBegunPauses() == [ReplyPause(business: business, customer: customer, due: later(2))])
        #expect(queue.inFlight == 0)
        #expect(lease(&queue, 1.9) == nil)
        #expect(lease(&queue, 2) == 1)
        _ = queue.settle(id(1), steady: later(3))
        #expect(lease(&queue, 3.5) == nil)
        #expect(queue.takeBegunPauses().map(\.due) == [later(5)])
        #expect(lease(&queue, 5) == 2)
        #expect(queue.takeBegunPauses().isEmpty)
    }

    @Test func `a reply that comes too late for its pause is sent at once, and without an indicator`() {
        var queue = OutboxQueue()
        queue.add(entry(1))
        #expect(lease(&queue, 2) == 1)
        queue.add(entry(2, until: 1))
        _ = queue.settle(id(1), steady: later(2))
        #expect(lease(&queue, 2) == 2)
        #expect(queue.takeBegunPauses().isEmpty)
    }

    @Test func `the end of a pause bounds it, and a retry and the reply behind an indicator have none`() {
        var queue = OutboxQueue()
        queue.add(entry(1, until: 1))
        #expect(lease(&queue, 0) == nil)
        #expect(lease(&queue, 1) == 1)
        queue.postpone(id(1), until: later(1.5))
        #expect(lease(&queue, 1.5) == 1)
        queue.add(entry(2, pause: nil, isTyping: true))
        queue.add(entry(3))
        _ = queue.settle(id(1), steady: later(1.6))
        #expect(lease(&queue, 1.6) == 2)
        _ = queue.settle(id(2), steady: later(1.7))
        #expect(lease(&queue, 1.7) == 3)
        #expect(queue.takeBegunPauses().map(\.due) == [later(1)])
    }

    @Test(arguments: [(1.0, false), (29.9, false), (30, true)])
    func `a reply within 30 seconds behind the handler's own indicator has no pause`(
        _ seconds: Double, _ isPaused: Bool
    ) {
        var queue = OutboxQueue()
        queue.add(entry(1, pause: nil, isTyping: true))
        #expect(lease(&queue, 0) == 1)
        _ = queue.settle(id(1), steady: now)
        queue.add(entry(2, decidedAt: seconds))
        #expect((lease(&queue, seconds) == nil) == isPaused)
        #expect(lease(&queue, seconds + 2) == (isPaused ? 2 : nil))
        _ = queue.settle(id(2), steady: later(seconds + 2))
        // The indicator announced the first reply only.
        queue.add(entry(3, decidedAt: seconds + 2))
        #expect(lease(&queue, seconds + 2) == nil)
    }

    @Test func `the indicators of many conversations are forgotten, and cost their replies a pause`() {
        var queue = OutboxQueue()
        for record in 1...1025 as ClosedRange<UInt64> {
            let key = ConversationKey(business: business, customer: CustomerID("c\(record)"))
            queue.add(
                OutboxQueue.Entry(
                    id: id(record), conversation: key, decidedAt: now, isTyping: true, place: .anywhere))
            _ = queue.settle(id(record), steady: now)
        }
        for (record, isPaused) in [(1, true), (1025, false)] as [(UInt64, Bool)] {
            let key = ConversationKey(business: business, customer: CustomerID("c\(record)"))
            queue.add(
                OutboxQueue.Entry(
                    id: id(2000 + record), conversation: key, decidedAt: now, isTyping: false,
                    place: .anywhere,
                    pause: OutboxQueue.Pause(length: .seconds(1), decidedAt: now)))
            #expect((lease(&queue, 0) == nil) == isPaused)
        }
    }

    @Test func `a probe of the gateway waits for no pause`() {
        var queue = OutboxQueue()
        queue.add(entry(1))
        #expect(queue.lease(.probe(of: business), at: now)?.id == id(1))
        #expect(queue.takeBegunPauses().isEmpty)
    }

    @Test func `a pause takes no place of those in flight, and other conversations go on`() {
        var queue = OutboxQueue(maximumInFlight: 2, maximumInFlightPerBusiness: 1)
        queue.add(entry(1))
        let other = ConversationKey(business: business, customer: CustomerID("other"))
        queue.add(
            OutboxQueue.Entry(
                id: id(2), conversation: other, decidedAt: now, isTyping: false, place: .anywhere))
        #expect(lease(&queue, 0) == 2)
        #expect(lease(&queue, 0) == nil)
        _ = queue.settle(id(2))
        #expect(lease(&queue, 2) == 1)
        #expect(queue.settle(id(1)) != nil)
        #expect(queue.count == 0)
    }

    @Test func `a person ends the pause that has begun, and those behind it`() {
        var queue = OutboxQueue()
        queue.add(entry(1))
        queue.add(entry(2))
        #expect(lease(&queue, 0) == nil)
        queue.endPauses(of: first)
        #expect(lease(&queue, 0) == 1)
        _ = queue.settle(id(1), steady: now)
        #expect(lease(&queue, 0) == 2)
        // A postponed reply keeps its time.
        queue.postpone(id(2), until: later(9))
        queue.endPauses(of: first)
        #expect(lease(&queue, 1) == nil)
    }

    @Test func `a thousand pauses cost no other conversation its turn`() {
        var queue = OutboxQueue()
        for record in 1...1000 as ClosedRange<UInt64> {
            let key = ConversationKey(business: business, customer: CustomerID("c\(record)"))
            queue.add(
                OutboxQueue.Entry(
                    id: id(record), conversation: key, decidedAt: now, isTyping: false, place: .anywhere,
                    pause: OutboxQueue.Pause(length: .seconds(1), decidedAt: now)))
        }
        queue.add(
            OutboxQueue.Entry(
                id: id(2000), conversation: ConversationKey(business: BusinessID("z"), customer: customer),
                decidedAt: now, isTyping: false, place: .anywhere))
        #expect(lease(&queue, 0) == 2000)
        #expect(lease(&queue, 0) == nil)
        #expect(queue.takeBegunPauses().count == 1000)
        var sent: Set<UInt64> = []
        while let record = lease(&queue, 1) {
            sent.insert(record)
            _ = queue.settle(id(record), steady: later(1))
        }
        #expect(sent.count == 1000)
    }
}
