import BalloonPOSIX

/// When the clocks of a time zone change each year, such as `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX, `TZ`).
struct ZoneRule: Hashable, Sendable {
    /// The offset from UTC in winter, in seconds; positive east of Greenwich.
    private let standard: Int64
    /// The offset in summer, with the beginning and the end of the summer time; nil when clocks do not change.
    private let saving: Saving?

    private struct Saving: Hashable {
        let offset: Int64
        let begins: Change
        let ends: Change
    }

    /// A day of the year and the second after its beginning.
    fileprivate struct Change: Hashable {
        enum Day: Hashable {
            /// `M3.5.0`: the last (5) Sunday (0) in March.
            case weekday(month: Int64, week: Int64, Int64)
            /// `J60`: the 60th day, not counting 29 February.
            case withoutLeapDay(Int64)
            /// `59`: the day after 59 days.
            case afterDays(Int64)
        }

        let day: Day
        let second: Int64
    }

    /// Reads the text of a rule; nil for another text.
    init?(_ text: Substring) {
        var reader = RuleReader(rest: text)
        guard reader.skipName(), let standard = reader.offset() else { return nil }
        self.standard = -standard
        if reader.rest.isEmpty {
            saving = nil
            return
        }
        guard reader.skipName() else { return nil }
        // Without a number the summer time is one hour ahead.
        let offset = reader.rest.first == "," ? standard - 3600 : reader.offset()
        guard let offset, let begins = Self.change(&reader), let ends = Self.change(&reader),
            reader.rest.isEmpty
        else { return nil }
        saving = Saving(offset: -offset, begins: begins, ends: ends)
    }

    /// The offset from UTC at a time, in seconds since 1970.
    func offset(at time: Int64) -> Int64 {
        guard let saving else { return standard }
        let year = civilDate(daysSinceEpoch: (time + standard).flooredQuotient(by: 86_400)).year
        let begins = saving.begins.seconds(in: year) - standard
        let ends = saving.ends.seconds(in: year) - saving.offset
        // South of the equator the summer time ends before it begins.
        let isSummer = begins < ends ? (begins..<ends).contains(time) : !(ends..<begins).contains(time)
        return isSummer ? saving.offset : standard
    }

    private static func change(_ reader: inout RuleReader) -> Change? {
        guard reader.skip(","), let day = day(&reader) else { return nil }
        guard reader.skip("/") else { return Change(day: day, second: 7200) }
        return reader.offset().map { Change(day: day, second: $0) }
    }

    private static func day(_ reader: inout RuleReader) -> Change.Day? {
        if reader.skip("J") { return reader.number(in: 1...365).map { .withoutLeapDay($0) } }
        guard reader.skip("M") else { return reader.number(in: 0...365).map { .afterDays($0) } }
        guard let month = reader.number(in: 1...12), reader.skip("."), let week = reader.number(in: 1...5),
            reader.skip("."), let weekday = reader.number(in: 0...6)
        else { return nil }
        return .weekday(month: month, week: week, weekday)
    }
}

extension ZoneRule.Change {
    /// The second since 1970 that clocks show at the change.
    fileprivate func seconds(in year: Int64) -> Int64 {
        let newYear = daysSinceEpoch(year: year, month: 1, day: 1)
        let found: Int64
        switch day {
        case .withoutLeapDay(let number):
            let isLeapYear = daysSinceEpoch(year: year + 1, month: 1, day: 1) - newYear == 366
            found = newYear + number - 1 + (isLeapYear && number >= 60 ? 1 : 0)
        case .afterDays(let number): found = newYear + number
        case .weekday(let month, let week, let weekday):
            let first = daysSinceEpoch(year: year, month: month, day: 1)
            let next =
                month == 12
                ? daysSinceEpoch(year: year + 1, month: 1, day: 1)
                : daysSinceEpoch(year: year, month: month + 1, day: 1)
            // 1 January 1970 was a Thursday.
            let distance = weekday - (first + 4)
            let begin = first + distance - distance.flooredQuotient(by: 7) * 7 + (week - 1) * 7
            found = begin < next ? begin : begin - 7
        }
        return found * 86_400 + second
    }
}

/// Reads the text of a rule from left to right.
private struct RuleReader {
    var rest: Substring

    mutating func skip(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    /// Skips the name of an offset, such as `CET` or `<+0330>`.
    mutating func skipName() -> Bool {
        if skip("<") {
            guard let end = rest.firstIndex(of: ">") else { return false }
            rest = rest[rest.index(after: end)...]
            return true
        }
        let name = rest.prefix { $0.isLetter }
        rest = rest[name.endIndex...]
        return name.count >= 3
    }

    mutating func number(in range: ClosedRange<Int64>) -> Int64? {
        let digits = rest.prefix { $0.isNumber }
        rest = rest[digits.endIndex...]
        return Int64(digits).flatMap { range.contains($0) ? $0 : nil }
    }

    /// The seconds of `[+-]h[:m[:s]]`.
    mutating func offset() -> Int64? {
        let sign: Int64 = skip("-") ? -1 : 1
        if sign == 1 { _ = skip("+") }
        guard var seconds = number(in: 0...167).map({ $0 * 3600 }) else { return nil }
        for unit in [60, 1] as [Int64] where skip(":") {
            guard let number = number(in: 0...59) else { return nil }
            seconds += number * unit
        }
        return sign * seconds
    }
}
