import BusinessMessages
import TestSupport
import Testing

@testable import MessageServer

@Suite struct FairSlotsTests {
    private let a = BusinessID("a")
    private let b = BusinessID("b")

    /// Returns when this many tasks wait for a slot.
    private func waitFor(_ waiting: Int, _ slots: FairSlots) async {
        #expect(await eventually { slots.counts.waiting >= waiting })
    }

    @Test func `a task waits until a slot of its business is released`() async {
        let slots = FairSlots(1, share: 1)
        #expect(await slots.acquire(for: a))
        let next = Task { await slots.acquire(for: a) }
        await waitFor(1, slots)
        slots.release(a)
        #expect(await next.value)
        #expect(slots.counts == (1, 0))
    }

    @Test func `a business at its limit does not delay another business`() async {
        let slots = FairSlots(8, share: 2)
        let slow = (0..<8).map { _ in Task { await slots.acquire(for: a) } }
        await waitFor(4, slots)
        #expect(slots.counts == (4, 4))
        #expect(await slots.acquire(for: b))
        for task in slow { task.cancel() }
        for task in slow { _ = await task.value }
        #expect(slots.counts == (5, 0))
    }

    @Test func `a cancelled task gets no slot and leaks none`() async {
        let slots = FairSlots(1, share: 1)
        #expect(await slots.acquire(for: a))
        let next = Task { await slots.acquire(for: b) }
        await waitFor(1, slots)
        next.cancel()
        #expect(await !next.value)
        slots.release(a)
        #expect(slots.counts == (0, 0))
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return await slots.acquire(for: a)
        }
        late.cancel()
        #expect(await !late.value)
    }

    @Test func `additional slots resume waiting tasks`() async {
        let slots = FairSlots(1, share: 1)
        #expect(await slots.acquire(for: a))
        let next = Task { await slots.acquire(for: a) }
        await waitFor(1, slots)
        slots.resize(to: 2, share: 2)
        #expect(await next.value)
    }

    @Test func `a single business may use all slots, and each of several businesses a quarter`() {
        #expect([0, 1, 2, 9].map { fairShare(of: 16, among: $0) } == [16, 16, 4, 4])
        #expect([1, 2, 9].map { fairShare(of: 8, among: $0) } == [8, 2, 2])
        #expect(fairShare(of: 3, among: 2) == 1)
    }
}
