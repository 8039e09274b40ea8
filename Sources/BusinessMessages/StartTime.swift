internal import BalloonJSON

/// Parses a date as seconds since 1970-01-01T00:00:00Z; `nil` when the text is not a date.
///
/// Apple sends `2026-07-10T17:00+0000`, without seconds and without a colon in the offset, and documents
/// `2017-05-26T08:27:55+00:00` and `…Z` (Apple MSP API, "Time Picker Message"). All of RFC 3339 is accepted,
/// fractions of a second are dropped, and a date without an offset is in GMT.
package func secondsSinceEpoch(parsing text: String) -> Int? {
    var rest = text.utf8[...]
    guard let year = rest.takeNumber(digits: 4), rest.take("-"),
        let month = rest.takeNumber(digits: 2), (1...12).contains(month), rest.take("-"),
        let day = rest.takeNumber(digits: 2), (1...days(inMonth: month, of: year)).contains(day),
        rest.take("T") || rest.take("t") || rest.take(" "),
        let hour = rest.takeNumber(digits: 2), hour < 24, rest.take(":"),
        let minute = rest.takeNumber(digits: 2), minute < 60
    else { return nil }
    var second = 0
    if rest.take(":") {
        // A leap second has the number 60 (RFC 3339 §5.6).
        guard let value = rest.takeNumber(digits: 2), value <= 60 else { return nil }
        second = value
        if rest.take(".") {
            guard rest.takeNumber(digits: 1) != nil else { return nil }
            while rest.takeNumber(digits: 1) != nil {}
        }
    }
    guard let offset = rest.takeOffset(), rest.isEmpty else { return nil }
    return days(until: year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
}

extension Substring.UTF8View {
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = first, UInt32(byte) == character.value else { return false }
        removeFirst()
        return true
    }

    fileprivate mutating func takeNumber(digits: Int) -> Int? {
        var number = 0
        var rest = self
        for _ in 0..<digits {
            guard let byte = rest.popFirst(), byte.isDigit else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        self = rest
        return number
    }

    /// Consumes an offset from GMT and returns it in seconds, positive east of GMT; `nil` when it is invalid.
    ///
    /// The forms are `Z`, `+0000`, `+00:00`, `+00` and nothing, which means GMT.
    fileprivate mutating func takeOffset() -> Int? {
        if isEmpty || take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = takeNumber(digits: 2), hours < 24 else { return nil }
        var minutes = 0
        if take(":") || !isEmpty {
            guard let value = takeNumber(digits: 2), value < 60 else { return nil }
            minutes = value
        }
        let offset = hours * 3600 + minutes * 60
        return isWest ? -offset : offset
    }
}

private func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

/// The number of days in a month of the Gregorian calendar.
func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
}

/// The number of days from 1970-01-01 to a date of the Gregorian calendar; negative for earlier dates.
private func days(until year: Int, _ month: Int, _ day: Int) -> Int {
    let past = year - 1
    let daysBeforeYear =
        past * 365 + past.dividedDown(by: 4) - past.dividedDown(by: 100) + past.dividedDown(by: 400)
    let daysBeforeMonth = (1..<month).reduce(0) { $0 + days(inMonth: $1, of: year) }
    return daysBeforeYear + daysBeforeMonth + day - 1 - 719_162
}

extension Int {
    fileprivate func dividedDown(by divisor: Int) -> Int {
        (self - (self % divisor + divisor) % divisor) / divisor
    }
}
