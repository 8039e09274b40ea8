/// Escapes with a backslash.
extension ExpressionParser {
    mutating func escape() throws(InvalidExpression) -> ExpressionNode? {
        if let anchor = anchor() { return .anchor(anchor) }
        if take("E") { return nil }
        if take("G") || take("X") || take("K") { return .unsupported }
        switch next {
        case let digit? where (0x31...0x39).contains(digit.value):
            while let digit = next?.value, (0x30...0x39).contains(digit) { at += 1 }
            return .unsupported
        case "k":
            at += 1
            guard take("<"), try name(until: ">") != nil else { throw InvalidExpression() }
            return .unsupported
        case "R":
            at += 1
            return .alternatives([
                .sequence([.scalar(.one("\r")), .scalar(.one("\n"))]), .scalar(.lineBreak),
            ])
        case "Q":
            at += 1
            var literals: [ExpressionNode] = []
            while next != nil, !take("\\E") { literals.append(set(.one(try takeAny()))) }
            return .sequence(literals)
        default: return try escapedSet().map(set) ?? .unsupported
        }
    }

    mutating func anchor() -> ExpressionAnchor? {
        if take("A") { return .start }
        if take("Z") { return .lastLineEnd }
        if take("z") { return .end }
        if take("b") { return .wordBoundary }
        return take("B") ? .noWordBoundary : nil
    }

    /// Parses an escape that stands for a set of scalars, inside or outside of a class; nil for a property that
    /// is not supported.
    mutating func escapedSet() throws(InvalidExpression) -> ScalarSet? {
        let scalar = try takeAny()
        switch scalar {
        case "d": return .digits
        case "D": return .inverted(.digits)
        case "w": return .word
        case "W": return .inverted(.word)
        case "s": return .whitespace
        case "S": return .inverted(.whitespace)
        case "h": return .lineSpace
        case "H": return .inverted(.lineSpace)
        case "v": return .lineBreak
        case "V", "N": return .inverted(.lineBreak)
        case "p", "P": return try property().map { scalar == "P" ? .inverted($0) : $0 }
        default: return .one(try escapedScalar(scalar))
        }
    }

    /// The scalar that an escape with this letter stands for.
    private mutating func escapedScalar(
        _ letter: Unicode.Scalar
    ) throws(InvalidExpression) -> Unicode.Scalar {
        switch letter {
        case "t": return "\t"
        case "n": return "\n"
        case "r": return "\r"
        case "f": return "\u{C}"
        case "a": return "\u{7}"
        case "e": return "\u{1B}"
        case "0": return try hexadecimal(digits: 0...0)
        case "c":
            guard let control = Unicode.Scalar(try takeAny().value & 0x1F) else { throw InvalidExpression() }
            return control
        case "x": return try hexadecimal(digits: 2...2)
        case "u": return try hexadecimal(digits: 4...4)
        case "U": return try hexadecimal(digits: 8...8)
        default:
            // An escaped letter without a meaning is reserved.
            guard !letter.properties.isAlphabetic, !(0x30...0x39).contains(letter.value) else {
                throw InvalidExpression()
            }
            return letter
        }
    }

    /// Parses a scalar as `{1F600}`, or as a number of hexadecimal digits in `range`.
    private mutating func hexadecimal(
        digits range: ClosedRange<Int>
    ) throws(InvalidExpression) -> Unicode.Scalar {
        let isBraced = range.upperBound > 0 && take("{")
        let digits = isBraced ? 1...8 : range
        var (value, count) = (UInt32(0), 0)
        while count < digits.upperBound, let digit = next.flatMap({ Character($0).hexDigitValue }) {
            at += 1
            count += 1
            value = value << 4 | UInt32(digit)
        }
        guard count >= digits.lowerBound, !isBraced || take("}"), let scalar = Unicode.Scalar(value) else {
            throw InvalidExpression()
        }
        return scalar
    }

    /// Parses the property of `\p{Lu}` or `\pL` after its letter; nil for one that is not supported.
    mutating func property() throws(InvalidExpression) -> ScalarSet? {
        take("{") ? try namedProperty(until: "}") : ScalarSet.property(String(Character(try takeAny())))
    }

    /// Parses `^Lu`, `gc=Lu` or `Letter` and the closing mark; nil for a property that is not supported.
    mutating func namedProperty(until end: Unicode.Scalar) throws(InvalidExpression) -> ScalarSet? {
        let isInverted = take("^")
        var name = ""
        while true {
            let scalar = try takeAny()
            if scalar == end { break }
            guard scalar.isASCII, "_=- &.".unicodeScalars.contains(scalar) || ScalarSet.word.contains(scalar)
            else { throw InvalidExpression() }
            name.unicodeScalars.append(scalar)
        }
        for prefix in ["gc=", "General_Category="] where name.utf8.starts(with: prefix.utf8) {
            name.removeFirst(prefix.utf8.count)
        }
        guard !name.isEmpty else { throw InvalidExpression() }
        return ScalarSet.property(name).map { isInverted ? .inverted($0) : $0 }
    }
}
