/// A set of Unicode scalars: a literal, a class such as `[a-z]`, or a property such as `\d`.
indirect enum ScalarSet: Sendable {
    case all
    case range(ClosedRange<UInt32>)
    /// The scalars with one of these general categories, such as `Lu`.
    case categories(Set<String>)
    case alphabetic, whitespace, word, lineBreak, lineSpace
    case union([ScalarSet])
    case intersection(ScalarSet, ScalarSet)
    case difference(ScalarSet, ScalarSet)
    case inverted(ScalarSet)
    /// The scalars of a set and their other cases.
    case caseless(ScalarSet)

    static let digits = ScalarSet.categories(["Nd"])

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
        case .categories(let codes): codes.contains(scalar.properties.generalCategory.code)
        case .alphabetic: scalar.properties.isAlphabetic
        case .whitespace: scalar.properties.isWhitespace
        case .word:
            scalar.properties.isAlphabetic
                || ["Mn", "Mc", "Me", "Nd", "Pc"].contains(scalar.properties.generalCategory.code)
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

extension Unicode.GeneralCategory {
    /// The two letters of the category (UAX 44, "General Category Values").
    fileprivate var code: String {
        switch self {
        case .uppercaseLetter: "Lu"
        case .lowercaseLetter: "Ll"
        case .titlecaseLetter: "Lt"
        case .modifierLetter: "Lm"
        case .otherLetter: "Lo"
        case .nonspacingMark: "Mn"
        case .spacingMark: "Mc"
        case .enclosingMark: "Me"
        case .decimalNumber: "Nd"
        case .letterNumber: "Nl"
        case .otherNumber: "No"
        case .connectorPunctuation: "Pc"
        case .dashPunctuation: "Pd"
        case .openPunctuation: "Ps"
        case .closePunctuation: "Pe"
        case .initialPunctuation: "Pi"
        case .finalPunctuation: "Pf"
        case .otherPunctuation: "Po"
        case .mathSymbol: "Sm"
        case .currencySymbol: "Sc"
        case .modifierSymbol: "Sk"
        case .otherSymbol: "So"
        case .spaceSeparator: "Zs"
        case .lineSeparator: "Zl"
        case .paragraphSeparator: "Zp"
        case .control: "Cc"
        case .format: "Cf"
        case .surrogate: "Cs"
        case .privateUse: "Co"
        case .unassigned: "Cn"
        @unknown default: "Cn"
        }
    }
}

extension ScalarSet {
    /// The set of a property's name, such as `Lu`, `Letter` or `Alphabetic`; nil for one that is not supported.
    static func property(_ name: String) -> ScalarSet? {
        let codes = groups[name] ?? (name.utf8.count == 2 && allCodes.contains(name) ? [name] : [])
        if !codes.isEmpty { return .categories(Set(codes)) }
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

    private static let letters = ["Lu", "Ll", "Lt", "Lm", "Lo"]
    private static let marks = ["Mn", "Mc", "Me"]
    private static let numbers = ["Nd", "Nl", "No"]
    private static let punctuation = ["Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"]
    private static let symbols = ["Sm", "Sc", "Sk", "So"]
    private static let separators = ["Zs", "Zl", "Zp"]
    private static let others = ["Cc", "Cf", "Cs", "Co", "Cn"]
    private static let allCodes = Set(
        letters + marks + numbers + punctuation + symbols + separators + others)

    private static let groups: [String: [String]] = [
        "L": letters, "Letter": letters, "M": marks, "Mark": marks, "N": numbers, "Number": numbers,
        "P": punctuation, "Punctuation": punctuation, "punct": punctuation, "S": symbols, "Symbol": symbols,
        "Z": separators, "Separator": separators, "C": others, "Other": others, "upper": ["Lu"],
        "lower": ["Ll"], "Uppercase_Letter": ["Lu"], "Lowercase_Letter": ["Ll"], "digit": ["Nd"],
        "Decimal_Number": ["Nd"], "cntrl": ["Cc"],
    ]
}
