/// Writes a date in Apple's format: `2026-07-10T17:00+0000`, with seconds only when they are not zero.
///
/// Instead of a date outside the years 0 to 9999, the nearest date inside them is written.
package func startTime(at seconds: Int) -> String {
    let bounded = min(max(seconds, -62_167_219_200), 253_402_300_799)
    let days = (bounded >= 0 ? bounded : bounded - 86_399) / 86_400
    let time = bounded - days * 86_400
    let (year, month, day) = date(afterDays: days)
    let second = time % 60 == 0 ? "" : ":" + time.lastDigits(of: 60)
    return year.padded(4) + "-" + month.padded(2) + "-" + day.padded(2) + "T" + (time / 3600).padded(2) + ":"
        + (time / 60 % 60).padded(2) + second + "+0000"
}

extension CalendarDate {
    /// Creates the date in GMT this many seconds after 1970-01-01; the result is in the years 0 to 9999.
    package init(atSeconds seconds: Int) {
        let bounded = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let (year, month, day) = date(afterDays: (bounded >= 0 ? bounded : bounded - 86_399) / 86_400)
        self.init(year: year, month: month, day: day)
    }
}

/// The date this many days after 1970-01-01, in the Gregorian calendar.
///
/// The calculation counts eras of 400 years that begin on 1 March, so that a leap day is the last day of its year.
private func date(afterDays days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (
        yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    )
}

extension Int {
    /// The number as text, with leading zeros if it has fewer than this many digits.
    func padded(_ digits: Int) -> String {
        let text = String(self)
        return String(repeating: "0", count: Swift.max(0, digits - text.count)) + text
    }

    fileprivate func lastDigits(of modulus: Int) -> String { (self % modulus).padded(2) }
}
