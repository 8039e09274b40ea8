/// An expression has invalid syntax, or is nested too deep.
struct InvalidExpression: Error {}

/// Parses a regular expression; `RegularExpression.maximumDepth` bounds the recursion.
struct ExpressionParser {
    /// The flags that `(?i)` and the like change until the end of their group.
    private struct Flags {
        var ignoresCase = false
        var dotMatchesLineBreak = false
        var isMultiline = false
        var ignoresSpace = false
    }

    let scalars: [Unicode.Scalar]
    var at = 0
    private var depth = 0
    /// The operators of the outermost class, each of which nests the sets before it.
    private var operators = 0
    private var flags = Flags()

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    mutating func wholeExpression() throws(InvalidExpression) -> ExpressionNode {
        let node = try alternatives()
        guard at == scalars.count else { throw InvalidExpression() }
        return node
    }

    var next: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

    mutating func take(_ text: String) -> Bool {
        var position = at
        for wanted in text.unicodeScalars {
            guard position < scalars.count, scalars[position] == wanted else { return false }
            position += 1
        }
        at = position
        return true
    }

    mutating func takeAny() throws(InvalidExpression) -> Unicode.Scalar {
        guard let scalar = next else { throw InvalidExpression() }
        at += 1
        return scalar
    }

    private mutating func enter() throws(InvalidExpression) {
        depth += 1
        guard depth <= RegularExpression.maximumDepth else { throw InvalidExpression() }
    }

    /// Parses alternatives up to the end of their group, whose flags end with them.
    mutating func alternatives() throws(InvalidExpression) -> ExpressionNode {
        try enter()
        let outer = flags
        defer {
            depth -= 1
            flags = outer
        }
        var branches: [[ExpressionNode]] = [[]]
        while let scalar = next, scalar != ")" {
            if take("|") {
                branches.append([])
            } else if let item = try item() {
                branches[branches.count - 1].append(try quantified(item))
            }
        }
        let nodes = branches.map(ExpressionNode.sequence)
        return nodes.count == 1 ? nodes[0] : .alternatives(nodes)
    }

    /// Parses one item without its quantifier; nil for one that matches nothing by itself, such as a flag.
    private mutating func item() throws(InvalidExpression) -> ExpressionNode? {
        let scalar = try takeAny()
        switch scalar {
        case "(": return try group()
        case "[":
            operators = 0
            return try characterClass().map(set) ?? .unsupported
        case ".":
            return .scalar(flags.dotMatchesLineBreak ? .all : .inverted(.lineBreak))
        case "^": return .anchor(flags.isMultiline ? .lineStart : .start)
        case "$": return .anchor(flags.isMultiline ? .lineEnd : .lastLineEnd)
        case "\\": return try escape()
        case "*", "+", "?": throw InvalidExpression()
        case _ where flags.ignoresSpace && scalar.properties.isWhitespace: return nil
        case "#" where flags.ignoresSpace:
            while let scalar = next, !scalar.isLineBreak { at += 1 }
            return nil
        default: return set(.one(scalar))
        }
    }

    func set(_ set: ScalarSet) -> ExpressionNode {
        .scalar(flags.ignoresCase ? .caseless(set) : set)
    }

    // Quantifiers.

    private mutating func quantified(_ node: ExpressionNode) throws(InvalidExpression) -> ExpressionNode {
        guard let (minimum, maximum) = try counts() else { return node }
        // A lazy quantifier matches the same texts as a greedy one; a possessive one does not.
        if take("+") { return .unsupported }
        _ = take("?")
        return .repetition(node, minimum: minimum, maximum: maximum)
    }

    private mutating func counts() throws(InvalidExpression) -> (minimum: Int, maximum: Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        let start = at
        guard take("{") else { return nil }
        let minimum = try number()
        let hasComma = take(",")
        let maximum = hasComma ? try number() : minimum
        guard take("}"), minimum != nil || maximum != nil else {
            // A brace that begins no count stands for itself.
            at = start
            return nil
        }
        guard minimum ?? 0 <= maximum ?? .max else { throw InvalidExpression() }
        return (minimum ?? 0, maximum)
    }

    /// Parses a decimal number; nil without a digit.
    mutating func number() throws(InvalidExpression) -> Int? {
        var value: Int?
        while let digit = next?.value, (0x30...0x39).contains(digit) {
            at += 1
            let longer = (value ?? 0) * 10 + Int(digit - 0x30)
            guard longer <= RegularExpression.maximumCount else { throw InvalidExpression() }
            value = longer
        }
        return value
    }
}

// Groups.
extension ExpressionParser {
    /// Parses a group after its opening parenthesis; nil for flags and comments.
    private mutating func group() throws(InvalidExpression) -> ExpressionNode? {
        guard take("?") else { return try closed(try alternatives()) }
        if take("#") {
            while try takeAny() != ")" {}
            return nil
        }
        if take(":") { return try closed(try alternatives()) }
        if take(">") {
            _ = try closed(try alternatives())
            return .unsupported
        }
        for (mark, isBehind, isNegated) in [
            ("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true),
        ] where take(mark) {
            return .look(try closed(try alternatives()), isBehind: isBehind, isNegated: isNegated)
        }
        if take("P<") || take("<") {
            guard try name(until: ">") != nil else { throw InvalidExpression() }
            return try closed(try alternatives())
        }
        return try flagGroup()
    }

    private mutating func closed(_ node: ExpressionNode) throws(InvalidExpression) -> ExpressionNode {
        guard take(")") else { throw InvalidExpression() }
        return node
    }

    /// Parses `i-s)`, whose flags hold until the end of the enclosing group, or `i-s:…)`.
    private mutating func flagGroup() throws(InvalidExpression) -> ExpressionNode? {
        var changed = flags
        var value = true
        while true {
            switch try takeAny() {
            case "i": changed.ignoresCase = value
            case "s": changed.dotMatchesLineBreak = value
            case "m": changed.isMultiline = value
            case "x": changed.ignoresSpace = value
            case "-" where value: value = false
            case ")":
                flags = changed
                return nil
            case ":":
                let outer = flags
                flags = changed
                let node = try alternatives()
                flags = outer
                return try closed(node)
            default: throw InvalidExpression()
            }
        }
    }

    /// Parses a name of letters, digits and `_`, and its closing mark; nil for an empty name.
    mutating func name(until end: Unicode.Scalar) throws(InvalidExpression) -> String? {
        var name = ""
        while true {
            let scalar = try takeAny()
            if scalar == end { return name.isEmpty ? nil : name }
            guard scalar.isASCII, scalar == "_" || ScalarSet.word.contains(scalar) else {
                throw InvalidExpression()
            }
            name.unicodeScalars.append(scalar)
        }
    }
}

// Classes.
extension ExpressionParser {
    /// Parses a class after its opening bracket; nil when it has a property that is not supported.
    private mutating func characterClass() throws(InvalidExpression) -> ScalarSet? {
        try enter()
        defer { depth -= 1 }
        let isInverted = take("^")
        // A bracket directly after the opening one stands for itself.
        var sets: [ScalarSet] = take("]") ? [.one("]")] : []
        var isSupported = true
        func add(_ set: ScalarSet?, to sets: inout [ScalarSet]) {
            if let set { sets.append(set) } else { isSupported = false }
        }
        while !take("]") {
            if take("&&") || take("--") {
                operators += 1
                guard operators <= RegularExpression.maximumDepth else { throw InvalidExpression() }
                let isDifference = scalars[at - 1] == "-"
                let left = ScalarSet.union(sets)
                guard let right = try operand() else {
                    isSupported = false
                    continue
                }
                sets = [isDifference ? .difference(left, right) : .intersection(left, right)]
            } else if take("[:") {
                add(try namedProperty(until: ":"), to: &sets)
                guard take("]") else { throw InvalidExpression() }
            } else if take("[") {
                add(try characterClass(), to: &sets)
            } else {
                add(try rangeOrSet(), to: &sets)
            }
        }
        guard isSupported else { return nil }
        return isInverted ? .inverted(.union(sets)) : .union(sets)
    }

    /// Parses what follows `&&` or `--`: a class, or everything up to the next operator or the end of the class.
    private mutating func operand() throws(InvalidExpression) -> ScalarSet? {
        if take("[") { return try characterClass() }
        var sets: [ScalarSet] = []
        var isSupported = true
        while let scalar = next, scalar != "]", scalar != "[", !isAtOperator {
            if let set = try rangeOrSet() { sets.append(set) } else { isSupported = false }
        }
        guard next != nil else { throw InvalidExpression() }
        return isSupported ? .union(sets) : nil
    }

    private var isAtOperator: Bool {
        at + 1 < scalars.count && scalars[at] == scalars[at + 1] && (scalars[at] == "&" || scalars[at] == "-")
    }

    /// Parses a scalar, a range such as `a-z`, or an escaped set such as `\d`.
    private mutating func rangeOrSet() throws(InvalidExpression) -> ScalarSet? {
        guard let first = try setInClass() else { return nil }
        guard case .range(let low) = first, low.count == 1, !isAtOperator, next == "-",
            at + 1 < scalars.count, scalars[at + 1] != "]"
        else { return first }
        at += 1
        guard next != "[" else { return .union([first, .one("-")]) }
        guard let last = try setInClass() else { return nil }
        guard case .range(let high) = last, high.count == 1 else {
            return .union([first, .one("-"), last])
        }
        guard low.lowerBound <= high.lowerBound else { throw InvalidExpression() }
        return .range(low.lowerBound...high.lowerBound)
    }

    private mutating func setInClass() throws(InvalidExpression) -> ScalarSet? {
        let scalar = try takeAny()
        guard scalar == "\\" else { return .one(scalar) }
        // In a class, \b is a backspace.
        return take("b") ? .one("\u{8}") : try escapedSet()
    }
}
