import BalloonPOSIX

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
        let (year, month, dayOfMonth) = civilDate(daysSinceEpoch: Int64(day))
        let clock = "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))"
        let date = "\(two(Int(dayOfMonth))) \(months[Int(month) - 1]) \(year)"
        return Array("Date: \(days[day % 7]), \(date) \(clock) GMT\r\n".utf8)
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
