import BusinessMessages
import MessageStore
import Testing

@testable import MessageServer

/// The bounds of callbacks in progress.
@Suite struct CallbackSlotsTests {
    @Test func `one business takes at most half of the callbacks, and leaves them to others`() {
        var slots = CallbackSlots()
        let (first, second) = (BusinessID("a"), BusinessID("b"))
        func enter(_ business: BusinessID) -> Bool {
            guard slots.enter() else { return false }
            if slots.enter(business, tracking: nil) { return true }
            slots.leave()
            return false
        }
        let half = CallbackSlots.maximum / 2
        #expect((0..<CallbackSlots.maximum).count { _ in enter(first) } == half)
        #expect((0..<CallbackSlots.maximum).count { _ in enter(second) } == half)
        let isAboveAll = slots.enter()
        #expect(!isAboveAll)
        slots.leave(first, tracking: nil)
        slots.leave()
        #expect([enter(second), enter(first), enter(first)] == [false, true, false])
    }

    @Test func `the order tracking of one request is bounded, and not its other callbacks`() {
        var slots = CallbackSlots()
        let business = BusinessID("a")
        let (first, second) = (RequestName(of: "first"), RequestName(of: "second"))
        let entered = (0..<100).count { _ in slots.enter(business, tracking: first) }
        #expect(entered == CallbackSlots.maximumTracking)
        let others = [second, nil].map { slots.enter(business, tracking: $0) }
        #expect(others == [true, true])
        slots.leave(business, tracking: first)
        let later = (0..<2).map { _ in slots.enter(business, tracking: first) }
        #expect(later == [true, false])
    }
}
