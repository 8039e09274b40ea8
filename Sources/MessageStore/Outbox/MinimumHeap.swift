/// A binary heap whose smallest element is removed first.
struct MinimumHeap<Element: Comparable> {
    private var elements: [Element] = []

    init(_ elements: [Element] = []) {
        // A sorted array is a heap.
        self.elements = elements.sorted()
    }

    var count: Int { elements.count }

    /// The smallest element.
    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func popFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let first = elements.first else { return last }
        elements[0] = last
        var parent = 0
        while true {
            var smallest = parent
            for child in (2 * parent + 1)...(2 * parent + 2)
            where child < elements.count && elements[child] < elements[smallest] { smallest = child }
            guard smallest != parent else { return first }
            elements.swapAt(parent, smallest)
            parent = smallest
        }
    }

    /// Keeps only the elements that satisfy `condition`.
    mutating func filter(_ condition: (Element) -> Bool) { self = MinimumHeap(elements.filter(condition)) }
}

extension MinimumHeap: Sendable where Element: Sendable {}
