/// A set of Unicode scalars: a literal, a class such as `[a-z]`, or a property such as `\d`.
indirect enum ScalarSet: Sendable {
    case all
    case range(ClosedRange<UInt32>)
    /// The scalars with one of these general categories.
    case categories(Set<Unicode.GeneralCategory>)
    case alphabetic, whitespace, word, lineBreak, lineSpace
    case union([ScalarSet])
    case intersection(ScalarSet, ScalarSet)
    case difference(ScalarSet, ScalarSet)
    case inverted(ScalarSet)
    /// The scalars of a set and their other cases.
    case caseless(ScalarSet)

    static let digits = ScalarSet.categories([.decimalNumber])

    static func one(_ scalar: Unicode.Scalar) -> ScalarSet { .range(scalar.value...scalar.value) }

    /// The number of comparisons that one lookup takes at most.
    var cost: Int {
        switch self {
        case .all, .range, .lineBreak, .lineSpace, .alphabetic, .whitespace: 1
        case .categories, .word: 4
        case .union(let sets): sets.reduce(1) { $0 + $1.cost }
        case .intersection(let left, let right), .difference(let left, let right): left.cost + right.cost
        case .inverted(let set): set.cost
        case .caseless(let set): 3 * set.cost + 4
        }
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        switch self {
        case .all: true
        case .range(let range): range.contains(scalar.value)
        case .categories(let categories): categories.contains(scalar.properties.generalCategory)
        case .alphabetic: scalar.properties.isAlphabetic
        case .whitespace: scalar.properties.isWhitespace
        case .word:
            scalar.properties.isAlphabetic
                || [.nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation]
                    .contains(scalar.properties.generalCategory)
        case .lineBreak: scalar.isLineBreak
        case .lineSpace: scalar == "\t" || scalar.properties.generalCategory == .spaceSeparator
        case .union(let sets): sets.contains { $0.contains(scalar) }
        case .intersection(let left, let right): left.contains(scalar) && right.contains(scalar)
        case .difference(let left, let right): left.contains(scalar) && !right.contains(scalar)
        case .inverted(let set): !set.contains(scalar)
        case .caseless(let set): set.contains(scalar) || scalar.otherCases.contains(where: set.contains)
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar ends a line (UTS 18, RL1.6).
    var isLineBreak: Bool { (0xA...0xD).contains(value) || [0x85, 0x2028, 0x2029].contains(value) }

    /// The scalar in upper and in lower case, if these are single scalars.
    fileprivate var otherCases: [Unicode.Scalar] {
        if isASCII {
            let letter = value | 0x20
            return (0x61...0x7A).contains(letter)
                ? [Unicode.Scalar(UInt8(letter)), Unicode.Scalar(UInt8(letter ^ 0x20))] : []
        }
        return [properties.lowercaseMapping, properties.uppercaseMapping].compactMap { text in
            let scalars = text.unicodeScalars
            return scalars.count == 1 ? scalars.first : nil
        }
    }
}

extension ScalarSet {
    /// The set of a property's name, such as `Lu`, `Letter` or `Alphabetic`; nil for one that is not supported.
    static func property(_ name: String) -> ScalarSet? {
        let code = names[name] ?? (name.utf8.count <= 2 ? name : "")
        let categories = code.isEmpty ? [] : Self.categories.filter { $0.key.hasPrefix(code) }.map(\.value)
        if !categories.isEmpty { return .categories(Set(categories)) }
        return switch name {
        case "Alphabetic", "IsAlphabetic", "alpha", "Alpha": .alphabetic
        case "White_Space", "IsWhite_Space", "space", "blank": .whitespace
        case "Any": .all
        case "ASCII": .range(0...0x7F)
        case "alnum": .union([.alphabetic, .digits])
        case "word": .word
        case "xdigit", "ASCII_Hex_Digit", "AHex":
            .union([.range(0x30...0x39), .range(0x41...0x46), .range(0x61...0x66)])
        default: nil
        }
    }

    /// The general categories by their two letters (UAX 44, "General Category Values").
    private static let categories: [String: Unicode.GeneralCategory] = [
        "Lu": .uppercaseLetter, "Ll": .lowercaseLetter, "Lt": .titlecaseLetter, "Lm": .modifierLetter,
        "Lo": .otherLetter, "Mn": .nonspacingMark, "Mc": .spacingMark, "Me": .enclosingMark,
        "Nd": .decimalNumber, "Nl": .letterNumber, "No": .otherNumber, "Pc": .connectorPunctuation,
        "Pd": .dashPunctuation, "Ps": .openPunctuation, "Pe": .closePunctuation, "Pi": .initialPunctuation,
        "Pf": .finalPunctuation, "Po": .otherPunctuation, "Sm": .mathSymbol, "Sc": .currencySymbol,
        "Sk": .modifierSymbol, "So": .otherSymbol, "Zs": .spaceSeparator, "Zl": .lineSeparator,
        "Zp": .paragraphSeparator, "Cc": .control, "Cf": .format, "Cs": .surrogate, "Co": .privateUse,
        "Cn": .unassigned,
    ]

    /// The letters of categories by other names; one letter stands for all categories that begin with it.
    private static let names = [
        "Letter": "L", "Mark": "M", "Number": "N", "Punctuation": "P", "punct": "P", "Symbol": "S",
        "Separator": "Z", "Other": "C", "upper": "Lu", "lower": "Ll", "Uppercase_Letter": "Lu",
        "Lowercase_Letter": "Ll", "digit": "Nd", "Decimal_Number": "Nd", "cntrl": "Cc",
    ]
}
