/// A queue that gives back its elements in the order in which they came.
struct FIFO<Element> {
    private var elements: [Element] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var count: Int { elements.count - start }
    var indices: Range<Int> { start..<elements.count }

    /// The element that is next to leave.
    var first: Element? { isEmpty ? nil : elements[start] }

    subscript(_ index: Int) -> Element {
        get { elements[index] }
        _modify { yield &elements[index] }
    }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Puts an element before all others.
    mutating func prepend(_ element: Element) {
        guard start > 0 else { return elements.insert(element, at: 0) }
        start -= 1
        elements[start] = element
    }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[start]
        start += 1
        // Moving the rest is paid for by the elements that left before.
        if start == elements.count {
            elements.removeAll(keepingCapacity: elements.count < 64)
            start = 0
        } else if start > 32, start * 2 > elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }

    /// Takes out the first element that satisfies `condition`.
    mutating func remove(where condition: (Element) -> Bool) -> Element? {
        guard let index = indices.first(where: { condition(elements[$0]) }) else { return nil }
        return elements.remove(at: index)
    }
}

extension FIFO: Sendable where Element: Sendable {}
