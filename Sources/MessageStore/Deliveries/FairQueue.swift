import BalloonPOSIX
package import BusinessMessages

/// A fair queue for work of several businesses that share a limited number of slots.
///
/// A business may get a slot while it has fewer slots than its share. It may get a slot beyond its share only
/// while no other business waits, and while it has fewer slots than are free. One busy business therefore
/// never has the last slots, and another business that comes later starts at once. A business keeps the slots
/// beyond its share until it releases them.
///
/// Among the businesses that may get a slot, the business with the fewest slots is next; among equals, the
/// one whose first element has waited longest. Within a business, elements leave first in, first out.
///
/// This is a separate type because two owners need the same rule. `FairSlots` uses it for tasks that wait in
/// the server, and `ReferenceQueue` for references that wait in the store. It is a value without side
/// effects. The time of a step is proportional to the number of businesses that wait or have slots.
package struct FairQueue<Element: Sendable>: Sendable {
    private struct Business {
        var held = 0
        var waiting = Deque<(number: UInt64, element: Element)>()
    }

    private var businesses: [BusinessID: Business] = [:]
    private var nextNumber: UInt64 = 0
    /// The number of slots.
    package private(set) var slots: Int
    /// The number of slots that a business may always hold.
    package private(set) var share: Int
    /// The number of held slots; higher than `slots` for a time after `slots` was lowered.
    package private(set) var held = 0
    /// The number of waiting elements.
    package private(set) var waitingCount = 0

    /// Creates a queue with `slots` slots, of which a business may hold `share` while others wait.
    ///
    /// A value below 1 counts as 1.
    package init(slots: Int, share: Int) {
        self.slots = max(1, slots)
        self.share = max(1, share)
    }

    /// Changes the number of slots and the share; held slots stay held.
    package mutating func resize(slots: Int, share: Int) {
        self.slots = max(1, slots)
        self.share = max(1, share)
    }

    /// Adds an element behind the other elements of its business.
    package mutating func add(_ element: Element, of business: BusinessID) {
        businesses[business, default: Business()].waiting.append((nextNumber, element))
        nextNumber += 1
        waitingCount += 1
    }

    /// Removes the next element and gives its business a slot, until `release(_:)`; nil when no element may get a
    /// slot.
    package mutating func next() -> Element? {
        let free = slots - held
        guard free > 0, waitingCount > 0 else { return nil }
        var best: (business: BusinessID, held: Int, number: UInt64)?
        for (business, state) in businesses {
            guard let first = state.waiting.first else { continue }
            let isAlone = state.waiting.count == waitingCount
            guard state.held < share || (isAlone && state.held < free) else { continue }
            if let best, (best.held, best.number) < (state.held, first.number) { continue }
            best = (business, state.held, first.number)
        }
        guard let best, let first = businesses[best.business]?.waiting.popFirst() else { return nil }
        businesses[best.business]?.held += 1
        held += 1
        waitingCount -= 1
        return first.element
    }

    /// Releases a slot of a business.
    package mutating func release(_ business: BusinessID) {
        guard let state = businesses[business], state.held > 0 else { return }
        held -= 1
        if state.held == 1, state.waiting.isEmpty {
            businesses[business] = nil
        } else {
            businesses[business]?.held -= 1
        }
    }

    /// Removes the first waiting element of a business that satisfies `condition`, without giving it a slot; nil when
    /// none does.
    package mutating func remove(of business: BusinessID, where condition: (Element) -> Bool) -> Element? {
        guard let removed = businesses[business]?.waiting.remove(where: { condition($0.element) }) else {
            return nil
        }
        waitingCount -= 1
        if let state = businesses[business], state.held == 0, state.waiting.isEmpty {
            businesses[business] = nil
        }
        return removed.element
    }
}
