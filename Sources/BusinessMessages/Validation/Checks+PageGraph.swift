internal import BalloonJSON

extension Checks {
    /// Checks that pages are unique, that each referenced page exists, and that every path leads to a last
    /// page.
    static let checkPageGraph: Check = { form, inspection in
        let pages = form["pages"]?.elements.filter { $0.kind == .object } ?? []
        unique(pages, "pageIdentifier", .pageIdentifiers, &inspection)
        let graph = PageGraph(pages)
        if let start = form["startPageIdentifier"], let name = start.textBytes, !name.isEmpty,
            graph.page(named: name) == nil
        {
            inspection.report(.startPage, at: start, allowed: graph.suggestion)
        }
        for next in pages.lazy.flatMap(nextPages) {
            guard let name = next.textBytes, !name.isEmpty, graph.page(named: name) == nil else { continue }
            inspection.report(.nextPage, at: next, allowed: graph.suggestion)
        }
        if let start = form["startPageIdentifier"]?.textBytes.flatMap(graph.page) {
            let reached = graph.pages(reachableFrom: start)
            for (page, isReached) in zip(graph.identifiers, reached) where !isReached {
                inspection.report(.unreachablePage, at: page, allowed: "a page that leads here")
            }
        }
        if let cycle = graph.firstCycle(), let first = cycle.min() {
            inspection.report(
                .pageCycle, at: graph.identifiers[first], found: tenNames(cycle.map { graph.names[$0] }),
                allowed: "pages that lead forward")
        }
    }

    static func nextPages(of page: JSONValue) -> [JSONValue] {
        let ofItems = (page["items"]?.objects ?? []).compactMap { $0["nextPageIdentifier"] }
        return (page["nextPageIdentifier"].map { [$0] } ?? []) + ofItems
    }
}

/// The pages of a form by their numbers in the order of the text; the first of several pages with one name counts.
///
/// Every function takes time proportional to the number of pages and references.
private struct PageGraph {
    /// The identifiers of the pages.
    private(set) var identifiers: [JSONValue] = []
    /// The texts of the identifiers; each is decoded once, because a text with escapes is copied.
    private(set) var names: [ArraySlice<UInt8>] = []
    /// The pages to which each page leads.
    private var nexts: [[Int]] = []
    private var numbers: [ArraySlice<UInt8>: Int] = [:]

    init(_ pages: [JSONValue]) {
        var kept: [JSONValue] = []
        for page in pages {
            guard let identifier = page["pageIdentifier"], let name = identifier.textBytes,
                numbers[name] == nil
            else { continue }
            numbers[name] = kept.count
            kept.append(page)
            identifiers.append(identifier)
            names.append(name)
        }
        nexts = kept.map { page in
            Checks.nextPages(of: page).compactMap { next in
                next.isEmptyText ? nil : next.textBytes.flatMap { numbers[$0] }
            }
        }
    }

    /// The names of existing pages.
    var suggestion: String { names.isEmpty ? "an existing page" : tenNames(names) }

    func page(named name: ArraySlice<UInt8>) -> Int? { numbers[name] }

    /// Whether each page can be reached from the page `start`.
    func pages(reachableFrom start: Int) -> [Bool] {
        var isReached = Array(repeating: false, count: nexts.count)
        isReached[start] = true
        var open = [start]
        while let page = open.popLast() {
            for next in nexts[page] where !isReached[next] {
                isReached[next] = true
                open.append(next)
            }
        }
        return isReached
    }

    /// The pages of the first path that returns to an earlier page; nil when every path leads forward.
    ///
    /// A search in depth: a page that leads to a page of the current path closes a cycle.
    func firstCycle() -> [Int]? {
        enum State { case unseen, onPath, finished }
        var states = Array(repeating: State.unseen, count: nexts.count)
        for start in nexts.indices where states[start] == .unseen {
            var path = [(page: start, tried: 0)]
            states[start] = .onPath
            while let last = path.last {
                guard last.tried < nexts[last.page].count else {
                    states[last.page] = .finished
                    path.removeLast()
                    continue
                }
                path[path.count - 1].tried += 1
                let next = nexts[last.page][last.tried]
                switch states[next] {
                case .unseen:
                    states[next] = .onPath
                    path.append((next, 0))
                case .onPath: return path.map(\.page).drop { $0 != next }.map(\.self)
                case .finished: break
                }
            }
        }
        return nil
    }
}
