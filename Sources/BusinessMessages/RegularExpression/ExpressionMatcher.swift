/// A match exceeded its number of steps, or met a part that cannot be decided.
struct UndecidedMatch: Error {}

/// Finds where the parts of an expression can end in a text.
///
/// The matcher does not try one way after another: it computes the set of all positions at which a part can end,
/// from the set of all positions at which it can begin. The work is therefore polynomial in the text's length,
/// and `maximumSteps` bounds it.
struct ExpressionMatcher {
    private let text: [Unicode.Scalar]
    private var stepsLeft: Int

    init(_ text: [Unicode.Scalar], maximumSteps: Int) {
        self.text = text
        stepsLeft = maximumSteps
    }

    /// The number of positions: before each scalar, and at the end.
    var count: Int { text.count + 1 }

    private mutating func spend(_ steps: Int) throws(UndecidedMatch) {
        stepsLeft -= steps
        guard stepsLeft >= 0 else { throw UndecidedMatch() }
    }

    /// The positions at which a match of `node` that begins at one of `starts` can end.
    ///
    /// The parser bounds the nesting of nodes, and therefore the recursion.
    mutating func ends(
        of node: ExpressionNode, from starts: PositionSet
    ) throws(UndecidedMatch) -> PositionSet {
        try spend(1 + starts.wordCount)
        switch node {
        case .scalar(let set): return try ends(of: set, from: starts)
        case .sequence(let nodes):
            var reached = starts
            for node in nodes where !reached.isEmpty { reached = try ends(of: node, from: reached) }
            return reached
        case .alternatives(let nodes):
            var reached = PositionSet(count)
            for node in nodes { reached.formUnion(try ends(of: node, from: starts)) }
            return reached
        case .repetition(let node, let minimum, let maximum):
            return try ends(of: node, minimum, maximum, from: starts)
        case .look(let node, isBehind: true, let isNegated):
            // Both sets are made position by position.
            try spend(count)
            let reached = try ends(of: node, from: PositionSet(all: count))
            return starts.filter { reached.contains($0) != isNegated }
        case .look(let node, isBehind: false, let isNegated):
            var kept = PositionSet(count)
            for start in starts.positions {
                let isFound = try !ends(of: node, from: PositionSet(count, only: start)).isEmpty
                if isFound != isNegated { kept.insert(start) }
            }
            return kept
        case .anchor(let anchor):
            try spend(starts.positions.count)
            return starts.filter { isAt(anchor, $0) }
        case .unsupported: throw UndecidedMatch()
        }
    }

    private mutating func ends(
        of set: ScalarSet, from starts: PositionSet
    ) throws(UndecidedMatch) -> PositionSet {
        var reached = PositionSet(count)
        let cost = set.cost
        for start in starts.positions where start < text.count {
            try spend(cost)
            if set.contains(text[start]) { reached.insert(start + 1) }
        }
        return reached
    }

    private mutating func ends(
        of node: ExpressionNode, _ minimum: Int, _ maximum: Int?, from starts: PositionSet
    ) throws(UndecidedMatch) -> PositionSet {
        var reached = starts
        for _ in 0..<minimum {
            let next = try ends(of: node, from: reached)
            // The same positions again: no further repetition changes them.
            if next == reached { break }
            reached = next
        }
        var newest = reached
        var extra = 0
        while !newest.isEmpty, maximum.map({ extra < $0 - minimum }) ?? true {
            newest = try ends(of: node, from: newest)
            newest.subtract(reached)
            reached.formUnion(newest)
            extra += 1
        }
        return reached
    }

    private func isAt(_ anchor: ExpressionAnchor, _ position: Int) -> Bool {
        switch anchor {
        case .start: position == 0
        case .end: position == text.count
        case .lineStart: position == 0 || text[position - 1].isLineBreak
        case .lineEnd: position == text.count || text[position].isLineBreak
        case .lastLineEnd: position == text.count || position == text.count - 1 && text[position].isLineBreak
        case .wordBoundary: isWord(position - 1) != isWord(position)
        case .noWordBoundary: isWord(position - 1) == isWord(position)
        }
    }

    private func isWord(_ position: Int) -> Bool {
        text.indices.contains(position) && ScalarSet.word.contains(text[position])
    }
}

/// A set of positions in a text, one bit for each.
struct PositionSet: Equatable {
    private var words: [UInt64]
    private let count: Int

    init(_ count: Int) {
        self.count = count
        words = Array(repeating: 0, count: (count + 63) / 64)
    }

    init(_ count: Int, only position: Int) {
        self.init(count)
        insert(position)
    }

    init(all count: Int) {
        self.init(count)
        for position in 0..<count { insert(position) }
    }

    var wordCount: Int { words.count }
    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    /// The positions in ascending order.
    var positions: [Int] {
        var result: [Int] = []
        for (index, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                result.append(index * 64 + rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }
        return result
    }

    func contains(_ position: Int) -> Bool { words[position / 64] & 1 << UInt64(position % 64) != 0 }

    func filter(_ isKept: (Int) -> Bool) -> PositionSet {
        var kept = PositionSet(count)
        for position in positions where isKept(position) { kept.insert(position) }
        return kept
    }

    mutating func insert(_ position: Int) { words[position / 64] |= 1 << UInt64(position % 64) }

    mutating func formUnion(_ other: PositionSet) {
        for index in words.indices { words[index] |= other.words[index] }
    }

    mutating func subtract(_ other: PositionSet) {
        for index in words.indices { words[index] &= ~other.words[index] }
    }
}
