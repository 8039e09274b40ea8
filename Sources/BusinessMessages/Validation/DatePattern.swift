/// A date of the Gregorian calendar.
package struct CalendarDate: Equatable, Comparable, Sendable {
    /// The year.
    package let year: Int
    /// The month, from 1.
    package let month: Int
    /// The day of the month, from 1.
    package let day: Int

    /// Whether the left date is earlier.
    package static func < (left: CalendarDate, right: CalendarDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}

/// A pattern for dates in numbers, such as `dd.MM.yyyy`: a subset of Unicode's patterns (UTS 35, "Date Format
/// Patterns").
///
/// A pattern has one year (`yyyy`, `y` or `yy`), one month (`MM` or `M`) and one day (`dd` or `d`).
/// Punctuation, blanks and literal text in apostrophes separate them. Names of months and days depend on the
/// device's language and are refused.
package struct DatePattern: Sendable {
    /// The letters of the fields.
    private enum Field: Character {
        case year = "y"
        case month = "M"
        case day = "d"
    }

    private enum Part {
        /// A number of exactly `digits` digits, or without leading zeros when `digits` is nil.
        case field(Field, digits: Int?)
        case literal(Character)
    }

    /// Apple's default pattern.
    package static let standard = DatePattern(parts(of: "MM/dd/yyyy") ?? [], "MM/dd/yyyy")
    /// The pattern of Apple's own sample.
    package static let iso = DatePattern(parts(of: "yyyy-MM-dd") ?? [], "yyyy-MM-dd")

    /// The maximum length of a pattern or a date in bytes; a longer one is refused without parsing it.
    private static let maximumBytes = 256

    /// The pattern as text.
    package let text: String
    private let parts: [Part]

    private init(_ parts: [Part], _ text: String) {
        self.parts = parts
        self.text = text
    }

    /// Parses a pattern of at most 256 bytes; `nil` unless it has year, month and day exactly once and no other
    /// fields.
    package init?(_ text: String) {
        guard let parts = Self.parts(of: text) else { return nil }
        self.init(parts, text)
    }

    private static func parts(of text: String) -> [Part]? {
        guard text.utf8.count <= maximumBytes else { return nil }
        var parts: [Part] = []
        var fields: [Field] = []
        var rest = text[...]
        while let character = rest.first {
            if character == "'" {
                guard let literal = quoted(&rest) else { return nil }
                parts += literal.map(Part.literal)
            } else if character.isLetter {
                let run = rest.prefix { $0 == character }
                rest = rest.dropFirst(run.count)
                guard let field = Field(rawValue: character),
                    run.count <= 2 || field == .year && run.count == 4
                else { return nil }
                fields.append(field)
                parts.append(.field(field, digits: run.count == 1 ? nil : run.count))
            } else {
                parts.append(.literal(rest.removeFirst()))
            }
        }
        return fields.count == 3 && Set(fields).count == 3 ? parts : nil
    }

    /// Consumes literal text in apostrophes; nil when the closing apostrophe is missing.
    ///
    /// Two apostrophes stand for one.
    private static func quoted(_ rest: inout Substring) -> String? {
        rest.removeFirst()
        if rest.first == "'" {
            rest.removeFirst()
            return "'"
        }
        var literal = ""
        while let character = rest.popFirst() {
            guard character == "'" else {
                literal.append(character)
                continue
            }
            guard rest.first == "'" else { return literal }
            literal.append(rest.removeFirst())
        }
        return nil
    }

    /// Parses a date of at most 256 bytes; `nil` when it does not match the pattern or does not exist.
    package func date(in text: String) -> CalendarDate? {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        var rest = text[...]
        var numbers: [Field: Int] = [:]
        for part in parts {
            switch part {
            case .literal(let character):
                guard rest.popFirst() == character else { return nil }
            case .field(let field, let digits):
                guard let number = rest.takeNumber(digits, atMost: field == .year ? 4 : 2) else { return nil }
                // A two-digit year is in this century, as on the devices that show forms.
                numbers[field] = field == .year && digits == 2 ? 2000 + number : number
            }
        }
        guard let year = numbers[.year], let month = numbers[.month], let day = numbers[.day] else {
            return nil
        }
        guard rest.isEmpty, (1...12).contains(month), (1...days(inMonth: month, of: year)).contains(day)
        else { return nil }
        return CalendarDate(year: year, month: month, day: day)
    }

    /// The date written in this pattern.
    package func text(of date: CalendarDate) -> String {
        parts.map { part in
            switch part {
            case .literal(let character): String(character)
            case .field(.year, digits: 2): (date.year % 100).padded(2)
            case .field(.year, let digits): date.year.padded(digits ?? 1)
            case .field(.month, let digits): date.month.padded(digits ?? 1)
            case .field(.day, let digits): date.day.padded(digits ?? 1)
            }
        }.joined()
    }
}

extension Substring {
    /// Consumes a number of exactly `digits` ASCII digits, or of one to `maximum` digits when `digits` is
    /// nil.
    ///
    /// Returns nil when the text does not begin with such a number.
    fileprivate mutating func takeNumber(_ digits: Int?, atMost maximum: Int) -> Int? {
        let run = prefix(digits ?? maximum).prefix { $0.isASCII && $0.isNumber }
        guard !run.isEmpty, digits == nil || run.count == digits else { return nil }
        self = dropFirst(run.count)
        return Int(run)
    }
}
