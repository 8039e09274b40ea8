import BalloonPOSIX
import Testing

@Suite struct DequeTests {
    @Test func `elements are removed in the order in which they were added`() {
        var queue = Deque<Int>()
        var model: [Int] = []
        var generator = SystemRandomNumberGenerator()
        for number in 0..<20_000 {
            // The queue grows for 10,000 steps, and then shrinks until it is empty.
            if UInt8.random(in: 0..<10, using: &generator) < (number < 10_000 ? 6 : 3) {
                queue.append(number)
                model.append(number)
            } else {
                #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(queue.count == model.count)
            #expect(queue.first == model.first)
            #expect(queue.isEmpty == model.isEmpty)
        }
        let middle = model.count > 2 ? model[1] : -1
        #expect(queue.remove { $0 == middle } == (middle < 0 ? nil : middle))
        #expect(queue.remove { $0 == -2 } == nil)
    }

    @Test func `an element that is put at the front is removed first`() {
        var queue = Deque<Int>()
        for number in 0..<3 { queue.append(number) }
        queue.prepend(-1)
        #expect(queue.popFirst() == -1)
        #expect(queue.popFirst() == 0)
        queue.prepend(7)
        #expect(Array(queue) == [7, 1, 2])
        queue[1] = 8
        #expect(queue.lastIndex { $0 == 2 } == 2)
        #expect(Array(queue) == [7, 8, 2])
    }
}
