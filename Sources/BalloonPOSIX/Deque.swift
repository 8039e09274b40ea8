/// A first-in, first-out queue; an element can also be inserted at the front.
///
/// The queue is an array and the position of the first element. Removed elements stay in the array, and are
/// not deallocated, until there are more than 32 of them and they are more than half of the array. Then all
/// are dropped at once, so that appending and removing take constant time on average.
///
/// The type is public although only this package uses it: the compiler specializes generic code of another
/// module only when it is public. Without specialization, a message cost a dozen more allocations and
/// thousands of instructions.
@frozen public struct Deque<Element>: RandomAccessCollection, MutableCollection {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var head = 0

    /// The number of removed elements that are kept, and of elements whose storage is kept when the queue is
    /// empty.
    @usableFromInline static var keptCount: Int { 32 }

    /// Creates an empty queue.
    @inlinable public init() {}

    /// The position of the first element.
    @inlinable public var startIndex: Int { 0 }
    /// The position behind the last element.
    @inlinable public var endIndex: Int { elements.count - head }

    /// The number of elements.
    @inlinable public var count: Int { elements.count - head }
    /// Whether there are no elements.
    @inlinable public var isEmpty: Bool { head == elements.count }
    /// The first element; nil when there is none.
    @inlinable public var first: Element? { isEmpty ? nil : elements[head] }

    /// The element at a position, counted from the first.
    @inlinable public subscript(position: Int) -> Element {
        _read { yield elements[head + position] }
        _modify { yield &elements[head + position] }
    }

    /// Adds an element behind all others.
    @inlinable public mutating func append(_ element: Element) { elements.append(element) }

    /// Inserts an element at the front.
    ///
    /// This takes constant time if the place of a removed element is still free at the front.
    @inlinable public mutating func prepend(_ element: Element) {
        guard head > 0 else { return elements.insert(element, at: 0) }
        head -= 1
        elements[head] = element
    }

    /// Removes the first element and returns it; nil when there is none.
    @inlinable public mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head]
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.count <= Self.keptCount)
            head = 0
        } else if head > Self.keptCount, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes the first element that satisfies `condition` and returns it; nil when none does.
    @inlinable public mutating func remove(where condition: (Element) -> Bool) -> Element? {
        firstIndex(where: condition).map { elements.remove(at: head + $0) }
    }
}

extension Deque: Sendable where Element: Sendable {}
