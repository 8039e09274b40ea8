internal import BalloonJSON

extension Checks {
    /// Checks that pages are unique, that each referenced page exists, and that every path leads to a last
    /// page.
    static let checkPageGraph: Check = { form, inspection in
        let pages = form["pages"]?.elements.filter { $0.kind == .object } ?? []
        unique(pages, "pageIdentifier", .pageIdentifiers, &inspection)
        var ways: [String: [String]] = [:]
        for page in pages {
            guard let name = page["pageIdentifier"]?.string, ways[name] == nil else { continue }
            ways[name] = nextPages(of: page).compactMap(\.nonEmptyString)
        }
        let known = ways.isEmpty ? "an existing page" : ways.keys.sorted().joined(separator: " ")
        if let start = form["startPageIdentifier"], let name = start.nonEmptyString, ways[name] == nil {
            inspection.report(.startPage, at: start, allowed: known)
        }
        for next in pages.flatMap(nextPages) {
            guard let name = next.nonEmptyString, ways[name] == nil else { continue }
            inspection.report(.nextPage, at: next, allowed: known)
        }
        reportUnreachable(pages, ways, from: form["startPageIdentifier"]?.string, &inspection)
        reportCycles(pages, ways, &inspection)
    }

    static func nextPages(of page: JSONValue) -> [JSONValue] {
        let ofItems = (page["items"]?.objects ?? []).compactMap { $0["nextPageIdentifier"] }
        return (page["nextPageIdentifier"].map { [$0] } ?? []) + ofItems
    }

    private static func reportUnreachable(
        _ pages: [JSONValue], _ ways: [String: [String]], from start: String?, _ inspection: inout Inspection
    ) {
        guard let start, ways[start] != nil else { return }
        var reached: Set = [start]
        var open = [start]
        while let name = open.popLast() {
            for next in ways[name] ?? [] where reached.insert(next).inserted { open.append(next) }
        }
        for page in pages {
            guard let identifier = page["pageIdentifier"], let name = identifier.string,
                !reached.contains(name)
            else { continue }
            inspection.report(.unreachablePage, at: identifier, allowed: "a page that leads here")
        }
    }

    /// Reports pages that lead back to themselves.
    ///
    /// It repeatedly removes the pages that lead to no remaining page. Every page that remains in the end is on a
    /// cycle or leads to one.
    private static func reportCycles(
        _ pages: [JSONValue], _ ways: [String: [String]], _ inspection: inout Inspection
    ) {
        var sources: [String: [String]] = [:]
        var remaining: [String: Int] = [:]
        for (name, nexts) in ways {
            let known = Set(nexts).filter { ways[$0] != nil }
            remaining[name] = known.count
            for next in known { sources[next, default: []].append(name) }
        }
        var open = remaining.filter { $0.value == 0 }.map(\.key)
        while let name = open.popLast() {
            remaining[name] = nil
            for source in sources[name] ?? [] {
                guard let count = remaining[source] else { continue }
                remaining[source] = count - 1
                if count == 1 { open.append(source) }
            }
        }
        // Pages that only lead to a cycle also remain; a page is on a cycle if it can be reached from itself.
        let onCycle = remaining.keys.filter { isReachable($0, from: $0, ways, within: remaining) }
        guard let first = pages.first(where: { onCycle.contains($0["pageIdentifier"]?.string ?? "") }),
            let identifier = first["pageIdentifier"]
        else { return }
        inspection.report(
            .pageCycle, at: identifier, found: onCycle.sorted().joined(separator: " "),
            allowed: "pages that lead forward")
    }

    private static func isReachable(
        _ goal: String, from start: String, _ ways: [String: [String]], within names: [String: Int]
    ) -> Bool {
        var seen: Set<String> = []
        var open = ways[start] ?? []
        while let name = open.popLast() {
            if name == goal { return true }
            guard names[name] != nil, seen.insert(name).inserted else { continue }
            open += ways[name] ?? []
        }
        return false
    }
}
