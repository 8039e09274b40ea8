/// The `Date` field (RFC 9110 §5.6.7, IMF-fixdate).
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns `Date: Sun, 06 Nov 1994 08:49:37 GMT` with its line end, for a time in seconds since 1970.
    static func field(secondsSince1970 seconds: Int) -> [UInt8] {
        let day = seconds / 86400
        let time = seconds % 86400
        let (year, month, dayOfMonth) = civilDate(day)
        let clock = "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))"
        return Array(
            "Date: \(days[day % 7]), \(two(dayOfMonth)) \(months[month - 1]) \(year) \(clock) GMT\r\n".utf8)
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    /// Returns the date of a day that is counted from 1970-01-01, in the proleptic Gregorian calendar.
    private static func civilDate(_ day: Int) -> (year: Int, month: Int, day: Int) {
        // Count from a March 1st: a year that begins in March ends with its leap day.
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
