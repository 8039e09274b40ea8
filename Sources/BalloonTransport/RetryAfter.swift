import BalloonPOSIX

extension Duration {
    /// Parses `Retry-After`, which is a number of seconds or a date (RFC 9110 §10.2.3).
    ///
    /// `now` is in seconds since 1970. A past date gives a wait of zero. Returns nil when the field is
    /// missing or malformed.
    package init?(retryAfter field: String?, now: Int) {
        guard let field else { return nil }
        let isNumber = field.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if isNumber, (1...9).contains(field.utf8.count), let seconds = UInt32(field) {
            self = .seconds(seconds)
        } else if let date = secondsSince1970(field) {
            self = .seconds(max(0, date - now))
        } else {
            return nil
        }
    }
}

/// Reads an `IMF-fixdate` (RFC 9110 §5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`; nil for the obsolete forms.
package func secondsSince1970(_ date: String) -> Int? {
    let parts = date.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard parts.count == 6, parts[5] == "GMT", parts[1].utf8.count == 2, parts[3].utf8.count == 4,
        let month = months.firstIndex(of: String(parts[2]))
    else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    let timestamp = Timestamp(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    return timestamp.map { Int($0.milliseconds / 1000) }
}
