/// The first findings of a check of a text, errors before warnings, with their places.
///
/// A text from outside can have a million faults. Only the first ``maximum`` errors and warnings are kept, and
/// only these are described: time and memory do not grow with the number of faults.
package struct FirstFindings<Finding> {
    /// A finding and its place in the text.
    package struct Listed {
        /// The place as a JSON Pointer (RFC 6901); for a missing member, the place where it belongs.
        package let pointer: String
        /// The line and the column of the place; for a missing member those of its object.
        package let position: (line: Int, column: Int)
        /// The description.
        package let finding: Finding
    }

    /// The maximum number of listed findings.
    package static var maximum: Int { 100 }

    private var errors = Kept<Finding>()
    private var warnings = Kept<Finding>()

    /// Creates an empty list.
    package init() {}

    /// Whether an error was found, listed or not.
    package var hasErrors: Bool { errors.hasFound }

    /// Adds a finding about `value`, or about its missing member with this name.
    ///
    /// All values must be of one document. `finding` is not evaluated when earlier findings fill the list.
    package mutating func add(
        at value: JSONValue, missing name: String? = nil, isError: Bool, _ finding: () -> Finding
    ) {
        if isError { errors.add(at: value, name, finding) } else { warnings.add(at: value, name, finding) }
    }

    /// At most ``maximum`` findings: the errors in the order of the text, and then the warnings.
    ///
    /// One scan of the text finds all positions.
    package var listed: [Listed] {
        // A key path in a generic type is made anew at each use, which takes longer than the inspection of a small message.
        if !errors.hasFound, !warnings.hasFound { return [] }
        let all = (errors.sorted + warnings.sorted).prefix(Self.maximum)
        let offsets = all.map { $0.value.offset }.sorted()
        let positions = Dictionary(
            zip(offsets, all.first?.value.positions(ofOffsets: offsets) ?? []),
            uniquingKeysWith: { first, _ in first })
        return all.map { kept in
            Listed(
                pointer: kept.value.pointer + (kept.missing.map { "/" + $0 } ?? ""),
                position: positions[kept.value.offset] ?? (line: 1, column: 1), finding: kept.finding)
        }
    }
}

/// The first findings of one severity.
private struct Kept<Finding> {
    private var all: [(value: JSONValue, missing: String?, finding: Finding)] = []
    /// The place of the last kept finding; `Int.max` before any finding was dropped.
    private var lastOffset = Int.max

    var hasFound: Bool { !all.isEmpty }

    mutating func add(at value: JSONValue, _ missing: String?, _ finding: () -> Finding) {
        guard value.offset < lastOffset else { return }
        all.append((value, missing, finding()))
        // Sorting rarely keeps the average cost of a finding small.
        if all.count >= 2 * FirstFindings<Finding>.maximum { trim() }
    }

    var sorted: [(value: JSONValue, missing: String?, finding: Finding)] {
        var copy = self
        copy.trim()
        return copy.all
    }

    private mutating func trim() {
        all.sort { $0.value.offset < $1.value.offset }
        guard all.count > FirstFindings<Finding>.maximum else { return }
        all.removeLast(all.count - FirstFindings<Finding>.maximum)
        lastOffset = all.last?.value.offset ?? Int.max
    }
}
