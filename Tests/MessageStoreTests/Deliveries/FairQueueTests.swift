import BusinessMessages
import Testing

@testable import MessageStore

struct FairQueueTests {
    private let a = BusinessID("a")
    private let b = BusinessID("b")
    private let c = BusinessID("c")

    /// A queue whose elements are named by their businesses.
    private func queue(
        _ slots: Int, share: Int, _ waiting: (BusinessID, Int)...
    ) -> FairQueue<BusinessID> {
        var queue = FairQueue<BusinessID>(slots: slots, share: share)
        for (business, count) in waiting { for _ in 0..<count { queue.add(business, of: business) } }
        return queue
    }

    /// Removes elements until none may get a slot.
    private func drain(_ queue: inout FairQueue<BusinessID>) -> [BusinessID] {
        var taken: [BusinessID] = []
        while let next = queue.next() { taken.append(next) }
        return taken
    }

    @Test(arguments: [(16, 4, 8), (8, 2, 4), (2, 1, 1), (1, 1, 1), (4, 4, 4)])
    func `a single business leaves slots free for a business that comes later`(
        slots: Int, share: Int, expected: Int
    ) {
        var queue = queue(slots, share: share, (a, 100))
        #expect(drain(&queue).count == expected)
        queue.add(b, of: b)
        #expect(queue.next() == (expected < slots ? b : nil))
    }

    @Test(arguments: [(16, 4), (8, 2)])
    func `while another business waits, a business has at most its share of slots`(slots: Int, share: Int) {
        var queue = queue(slots, share: share, (a, 100), (b, 100))
        #expect(Set(drain(&queue).map { $0 == a }) == [true, false])
        #expect(queue.held == 2 * share)
        queue.release(a)
        #expect(drain(&queue) == [a])
        // A business that comes now gets its share at once.
        for _ in 0..<share { queue.add(c, of: c) }
        #expect(drain(&queue).count == share)
        // When B waits no longer, A gets slots beyond its share, and leaves as many free as it holds.
        while queue.remove(of: b, where: { _ in true }) != nil {}
        for _ in 0..<share { queue.release(c) }
        for _ in 0..<share { queue.release(b) }
        #expect(drain(&queue).count == slots / 2 - share)
        #expect(queue.held == slots / 2)
        // While B waits, A gets no slot in place of those that it releases beyond its share.
        for _ in 0..<100 { queue.add(b, of: b) }
        #expect(drain(&queue).allSatisfy { $0 == b })
        for _ in 0..<slots / 2 - share {
            queue.release(a)
            #expect(drain(&queue).isEmpty)
        }
        queue.release(a)
        #expect(drain(&queue) == [a])
    }

    @Test func `a business with fewer slots than its share goes before a business with more`() {
        var queue = queue(16, share: 4, (a, 100))
        #expect(drain(&queue).count == 8)
        for _ in 0..<10 { queue.add(b, of: b) }
        for _ in 0..<10 { queue.add(c, of: c) }
        #expect(drain(&queue) == [b, c, b, c, b, c, b, c])
        #expect(queue.held == 16)
        // Beyond its share, A gets a slot only while it holds fewer slots than are free.
        for _ in 0..<4 { queue.release(a) }
        #expect(drain(&queue) == [])
        queue.release(a)
        #expect(drain(&queue) == [a])
    }

    @Test func `elements of a business leave in order, and the longest-waiting business is first`() {
        var queue = FairQueue<String>(slots: 100, share: 25)
        for (name, business) in [("a1", a), ("a2", a), ("b1", b), ("c1", c), ("b2", b)] {
            queue.add(name, of: business)
        }
        var order: [String] = []
        while let next = queue.next() { order.append(next) }
        #expect(order == ["a1", "b1", "c1", "a2", "b2"])
    }

    @Test func `a released slot is reused, and the number of slots is never exceeded`() {
        var queue = queue(2, share: 2, (a, 3))
        #expect(drain(&queue) == [a, a])
        queue.release(a)
        #expect(drain(&queue) == [a])
        for _ in 0..<5 { queue.release(a) }
        #expect(queue.held == 0)
        queue.release(b)
        #expect(queue.held == 0)
    }

    @Test func `an element removed before its turn holds neither a slot nor a place in the queue`() {
        var queue = queue(1, share: 1, (a, 2), (b, 1))
        #expect(queue.next() == a)
        #expect(queue.remove(of: a) { $0 == a } == a)
        #expect(queue.remove(of: a) { _ in true } == nil)
        #expect(queue.remove(of: c) { _ in true } == nil)
        queue.release(a)
        #expect(drain(&queue) == [b])
        queue.add(c, of: c)
        #expect(queue.remove(of: c) { _ in true } == c)
        #expect((queue.held, queue.waitingCount) == (1, 0))
    }

    @Test func `lowering the number of slots revokes none, and raising it admits waiting elements`() {
        var queue = queue(4, share: 4, (a, 6))
        #expect(drain(&queue).count == 4)
        queue.resize(slots: 2, share: 2)
        queue.release(a)
        queue.release(a)
        #expect(drain(&queue) == [])
        queue.resize(slots: 4, share: 4)
        #expect(drain(&queue) == [a, a])
    }

    @Test func `a random sequence of operations never exceeds the slots and admits every element`() {
        var random = SystemRandomNumberGenerator()
        let businesses = (0..<6).map { BusinessID("\($0)") }
        for _ in 0..<50 {
            let (slots, share) = (
                Int.random(in: 1...16, using: &random), Int.random(in: 1...5, using: &random)
            )
            var queue = FairQueue<BusinessID>(slots: slots, share: share)
            var held: [BusinessID: Int] = [:]
            var waiting: [BusinessID: Int] = [:]
            func take() {
                while let next = queue.next() {
                    // A waiting business below its share is never passed over for one that has its share.
                    let poorer = businesses.contains {
                        waiting[$0, default: 0] > 0 && held[$0, default: 0] < share
                    }
                    #expect(held[next, default: 0] < share || !poorer)
                    let others = businesses.contains { $0 != next && waiting[$0, default: 0] > 0 }
                    #expect(held[next, default: 0] < share || !others)
                    held[next, default: 0] += 1
                    waiting[next, default: 0] -= 1
                }
            }
            for _ in 0..<300 {
                let business = businesses[Int.random(in: 0..<6, using: &random)]
                if Bool.random(using: &random) {
                    queue.add(business, of: business)
                    waiting[business, default: 0] += 1
                } else if held[business, default: 0] > 0 {
                    queue.release(business)
                    held[business, default: 0] -= 1
                }
                take()
                #expect(queue.held == held.values.reduce(0, +) && queue.held <= slots)
                #expect(queue.waitingCount == waiting.values.reduce(0, +))
            }
            while queue.waitingCount > 0 {
                guard let business = held.first(where: { $0.value > 0 })?.key else {
                    Issue.record("elements wait while no slot is held")
                    break
                }
                queue.release(business)
                held[business, default: 0] -= 1
                take()
            }
        }
    }
}
