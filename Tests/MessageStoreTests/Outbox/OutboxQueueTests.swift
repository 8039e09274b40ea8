import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

@Suite final class OutboxQueueTests {
    private var queue = OutboxQueue(maximumInFlight: 4, maximumInFlightPerBusiness: 2)
    private let now = Timestamp(milliseconds: 1_000_000)

    private func later(_ seconds: Int) -> Timestamp { now.advanced(by: .seconds(seconds)) }

    private func add(_ record: UInt64, _ business: String, _ customer: String, at: Timestamp? = nil) {
        queue.add(
            OutboxQueue.Entry(
                id: ReplyID(record: record, index: 0), conversation: key(business, customer),
                decidedAt: at ?? now, isTyping: false, place: .anywhere))
    }

    private func lease(
        _ selection: OutboxSelection = .any(), at: Timestamp? = nil
    ) -> UInt64? {
        queue.lease(selection, at: at ?? now)?.id.record
    }

    private func settle(_ record: UInt64) -> ReplyID? { queue.settle(id(record))?.id }

    private func leaseExpired(at: Timestamp) -> UInt64? {
        queue.leaseExpired(at: at, after: .seconds(60))?.id.record
    }

    @Test func `replies of a conversation are leased one at a time and in order`() {
        add(1, "a", "x")
        add(2, "a", "x")
        #expect(lease() == 1)
        #expect(lease() == nil)
        #expect(settle(1) == id(1))
        #expect(lease() == 2)
        #expect(settle(2) == id(2))
        #expect(queue.count == 0)
        #expect(queue.countsByBusiness.isEmpty)
    }

    @Test func `a probe of the gateway leases the first due postponed reply whose Retry-After has passed`() {
        for (record, customer) in [(1, "x"), (2, "y"), (3, "z")] { add(UInt64(record), "a", customer) }
        for _ in 1...3 { _ = lease(.probe(of: BusinessID("a"))) }
        queue.postpone(id(1), until: later(600), notBefore: now)
        queue.postpone(id(2), until: later(300), notBefore: later(300))
        queue.postpone(id(3), until: later(500), notBefore: now)
        #expect(lease() == nil)
        #expect(lease(.probe(of: BusinessID("b"))) == nil)
        #expect(lease(.probe(of: BusinessID("a"))) == 3)
        #expect(lease(.probe(of: nil)) == 1)
        #expect(lease(.probe(of: nil)) == nil)
        // A probe that was not sent leaves its reply ready.
        queue.release(id(3))
        #expect(lease() == 3)
        // A business has at most two replies in flight.
        #expect(settle(1) == id(1))
        #expect(lease(at: later(300)) == 2)
    }

    @Test func `a probe of the gateway prefers a reply that is due`() {
        for (record, customer) in [(1, "x"), (2, "y")] { add(UInt64(record), "a", customer) }
        #expect(lease() == 1)
        queue.postpone(id(1), until: later(600), notBefore: now)
        #expect(lease(.probe(of: nil)) == 2)
    }

    @Test func `replies that are held back are neither leased nor expired until they are released`() {
        queue.hold([key("a", "x")])
        add(1, "a", "x")
        add(2, "a", "x")
        add(3, "a", "y")
        #expect(lease() == 3)
        #expect(lease() == nil)
        #expect(leaseExpired(at: later(100)) == nil)
        // An operator may drop a reply that is held back.
        #expect(queue.lease(id: id(1)) != nil)
        #expect(settle(1) == id(1))
        #expect(lease() == nil)
        queue.releaseHeld()
        #expect(lease() == 2)
        queue.release(id(2))
        #expect(leaseExpired(at: later(100)) == 2)
    }

    @Test func `a postponed reply holds back only its own conversation`() {
        add(1, "a", "x")
        add(2, "a", "x")
        add(3, "a", "y")
        #expect(lease() == 1)
        queue.postpone(id(1), until: later(10))
        #expect(queue.entry(id(1))?.attempts == 1)
        #expect(lease() == 3)
        #expect(lease() == nil)
        #expect(lease(at: later(9)) == nil)
        #expect(lease(at: later(10)) == 1)
    }

    @Test func `a released reply is tried again without counting an attempt`() {
        add(1, "a", "x")
        add(2, "a", "y")
        #expect(lease() == 1)
        queue.release(id(1))
        #expect(queue.entry(id(1))?.attempts == 0)
        // The released reply goes behind the other conversations of its business, so that a probe meets a different
        // conversation each time.
        #expect(lease() == 2)
        #expect(lease() == 1)
    }

    @Test func `replies of several businesses are leased in turns`() {
        for record in 1...3 { add(UInt64(record), "a", "x\(record)") }
        add(11, "b", "y1")
        add(12, "b", "y2")
        #expect([lease(), lease(), lease(), lease()] == [1, 11, 2, 12])
    }

    @Test func `the limits of replies in flight hold, in all and for each business`() {
        for (record, business) in zip(1..., ["a", "a", "a", "b", "b", "b", "c"]) {
            add(UInt64(record), business, "x\(record)")
        }
        #expect([lease(), lease(), lease(), lease()].compactMap(\.self) == [1, 4, 7, 2])
        #expect(lease() == nil)
        #expect(queue.inFlight == 4)
        _ = queue.settle(id(7))
        #expect(lease() == 5)
        // Both businesses are at their limit, although the total limit is not reached.
        _ = queue.settle(id(5))
        _ = queue.settle(id(4))
        _ = queue.settle(id(1))
        #expect([lease(), lease()].compactMap(\.self).sorted() == [3, 6])
    }

    @Test func `replies of an excluded business are not leased until the exclusion ends`() {
        add(1, "a", "x")
        add(2, "b", "y")
        #expect(lease(.any(excludingBusinesses: [BusinessID("a")])) == 2)
        #expect(lease(.any(excludingBusinesses: [BusinessID("a")])) == nil)
        #expect(lease() == 1)
    }

    @Test func `a probe of the gateway ignores the limits of replies in flight`() {
        for record in 1...3 { add(UInt64(record), "a", "x\(record)") }
        add(4, "b", "y")
        _ = [lease(), lease(), lease()]
        #expect(lease() == nil)
        #expect(lease(.probe(of: BusinessID("b"))) == nil)
        #expect(lease(.probe(of: BusinessID("a"))) == 3)
        queue.release(id(4))
        #expect(lease(.probe(of: nil)) == 4)
        #expect(queue.inFlight == 4)
    }

    @Test func `a dropped reply is removed from the middle of its conversation's queue`() {
        for record in 1...4 { add(UInt64(record), "a", "x") }
        _ = queue.settle(id(2))
        _ = queue.settle(id(4))
        #expect(queue.entries(of: key("a", "x")).map(\.id.record) == [1, 3])
        _ = queue.settle(id(1))
        #expect(lease() == 3)
        add(5, "a", "x")
        #expect(queue.entries(of: key("a", "x"), maximum: 1).map(\.id.record) == [3])
        _ = queue.settle(id(3))
        #expect(lease() == 5)
    }

    @Test func `replies older than their lifetime are leased as expired but not while they are sent`() {
        add(1, "a", "x")
        add(2, "a", "x", at: later(5))
        add(3, "a", "y", at: later(100))
        #expect(lease() == 1)
        #expect(leaseExpired(at: later(60)) == nil)
        #expect(leaseExpired(at: later(65)) == 2)
        #expect(leaseExpired(at: later(65)) == nil)
        _ = queue.settle(id(2))
        queue.postpone(id(1), until: later(1000))
        #expect(leaseExpired(at: later(65)) == 1)
        _ = queue.settle(id(1))
        #expect(leaseExpired(at: later(159)) == nil)
        #expect(lease() == 3)
    }

    @Test func `adding an entry to the queue a second time has no effect`() {
        add(1, "a", "x")
        add(1, "a", "x")
        #expect(queue.count == 1)
        _ = settle(1)
        #expect(settle(1) == nil)
        #expect(lease() == nil)
    }

    @Test func `a random mix of operations keeps the order of every conversation and loses nothing`() {
        var generator = SystemRandomNumberGenerator()
        var expected: [ConversationKey: [UInt64]] = [:]
        var leased: [UInt64: ConversationKey] = [:]
        var next: UInt64 = 1
        var clock = now
        for step in 0..<20_000 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4 where step < 15_000:
                let (business, customer) = ("b\(Int.random(in: 0..<3))", "c\(Int.random(in: 0..<8))")
                add(next, business, customer, at: clock)
                expected[key(business, customer), default: []].append(next)
                next += 1
            case 4..<7:
                guard let entry = queue.lease(.any(), at: clock) else {
                    clock = clock.advanced(by: .seconds(1))
                    continue
                }
                #expect(expected[entry.conversation]?.first == entry.id.record)
                #expect(leased[entry.id.record] == nil)
                leased[entry.id.record] = entry.conversation
            case 7:
                if let (record, _) = leased.popFirst() {
                    queue.postpone(id(record), until: later(1 + step / 100))
                }
            case 8: if let (record, _) = leased.popFirst() { queue.release(id(record)) }
            default:
                guard let (record, key) = leased.popFirst() else { continue }
                #expect(settle(record) == id(record))
                expected[key]?.removeFirst()
            }
        }
        for record in leased.keys { queue.release(id(record)) }
        clock = clock.advanced(by: .seconds(100_000))
        while let entry = queue.lease(.any(), at: clock) {
            #expect(expected[entry.conversation]?.first == entry.id.record)
            expected[entry.conversation]?.removeFirst()
            _ = queue.settle(entry.id)
        }
        let left = expected.values.reduce(0) { $0 + $1.count }
        #expect(left == 0)
        #expect(queue.count == 0 && queue.inFlight == 0)
    }

    @Test(arguments: ["57.1", "0.3", "18446744073709551615.1"])
    func `a reply's name of a record and a position is parsed`(_ name: String) {
        #expect(ReplyID(name)?.description == name)
    }

    @Test(arguments: ["57", "57.0", "57.01", "+57.1", "57.1.1", "", ".", "57.-1", "a.1"])
    func `a text in another spelling is not parsed as a reply's name`(_ name: String) {
        #expect(ReplyID(name) == nil)
    }
}

private func id(_ record: UInt64) -> ReplyID { ReplyID(record: record, index: 0) }

private func key(_ business: String, _ customer: String) -> ConversationKey {
    ConversationKey(business: BusinessID(business), customer: CustomerID(customer))
}

extension ReplyText.Place {
    /// A place that no test reads.
    static let anywhere = ReplyText.Place.own(RecordLocation(segment: 1, offset: 0, lengthBytes: 1))
}
