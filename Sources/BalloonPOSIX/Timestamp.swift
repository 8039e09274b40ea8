import CLinux
import Glibc

/// A point in time in UTC, with a precision of one millisecond.
///
/// The text form is always `2026-11-21T10:00:00.123Z` (RFC 3339 §5.6), with years from 0000 to 9999.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    package let milliseconds: Int64

    /// Uses milliseconds since 1970-01-01T00:00:00Z.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Returns the current time of the machine's clock.
    package static func now() -> Timestamp {
        var time = timespec()
        // Sound: clock_gettime fills the given value.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Returns the instant that is later by `duration`, to the millisecond.
    package func advanced(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(duration.wholeMilliseconds))
    }

    /// Returns whether `left` is earlier than `right`.
    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension Timestamp: CustomStringConvertible {
    /// The text form, such as `2026-11-21T10:00:00.123Z`.
    package var rfc3339: String {
        // Sound: 24 bytes are written, the capacity.
        unsafe String(unsafeUninitializedCapacity: 24) { buffer in
            var text = unsafe buffer.mutableSpan
            write(to: &text, at: 0)
            return 24
        }
    }

    /// Appends ``rfc3339`` without creating a string.
    package func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: 24))
        var text = bytes.mutableSpan
        write(to: &text, at: start)
    }

    /// The text form, as in ``rfc3339``.
    package var description: String { rfc3339 }

    private func write(to text: inout MutableSpan<UInt8>, at start: Int) {
        // Times before the year 0000 or after 9999 are clamped to this range.
        let clamped = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        let day = clamped.flooredQuotient(by: 86_400_000)
        let inDay = clamped - day * 86_400_000
        let date = civilDate(daysSinceEpoch: day)
        putDecimal(date.year, digits: 4, then: "-", at: start, in: &text)
        putDecimal(date.month, digits: 2, then: "-", at: start + 5, in: &text)
        putDecimal(date.day, digits: 2, then: "T", at: start + 8, in: &text)
        putDecimal(inDay / 3_600_000, digits: 2, then: ":", at: start + 11, in: &text)
        putDecimal(inDay / 60_000 % 60, digits: 2, then: ":", at: start + 14, in: &text)
        putDecimal(inDay / 1000 % 60, digits: 2, then: ".", at: start + 17, in: &text)
        putDecimal(inDay % 1000, digits: 3, then: "Z", at: start + 20, in: &text)
    }
}

extension Timestamp {
    /// Parses the text form of RFC 3339 §5.6, with any offset and any number of fraction digits.
    ///
    /// Fraction digits after the third are dropped. Returns nil when the text has another form, names a
    /// nonexistent day, or has a second 60.
    package init?(rfc3339 text: some StringProtocol) {
        var reader = DigitReader(bytes: Array(text.utf8))
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
            let day = reader.number(2), reader.skip("T") || reader.skip("t"),
            let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2), reader.skip(":"),
            let second = reader.number(2), let fraction = reader.milliseconds(),
            let offset = reader.offsetMinutes(),
            reader.isAtEnd, hour < 24, minute < 60, second < 60, (1...12).contains(month)
        else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        guard day > 0, civilDate(daysSinceEpoch: days) == (year, month, day) else { return nil }
        let seconds = days * 86_400 + hour * 3600 + (minute - offset) * 60 + second
        self.init(milliseconds: seconds * 1000 + fraction)
    }
}

/// Reads the text of a date from left to right.
private struct DigitReader {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }

    mutating func number(_ digits: Int) -> Int64? {
        guard position + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + digits] {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        position += digits
        return value
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func milliseconds() -> Int64? {
        guard skip(".") else { return 0 }
        var value: Int64 = 0
        var weight: Int64 = 100
        let start = position
        while let digit = number(1) {
            value += digit * weight
            weight /= 10
        }
        return position > start ? value : nil
    }

    mutating func offsetMinutes() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let sign: Int64
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else {
            return nil
        }
        return sign * (hours * 60 + minutes)
    }
}

/// Returns the proleptic Gregorian date of a day; years start in March here, so that the leap day is last.
package func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = daysSinceEpoch + 719_468
    let era = shifted.flooredQuotient(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (
        year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
        day: dayOfYear - (153 * marchMonth + 2) / 5 + 1
    )
}

/// Returns the day, counted from 1970-01-01, of a proleptic Gregorian date.
package func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let era = marchYear.flooredQuotient(by: 400)
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
}

extension Int64 {
    /// Returns the quotient, rounded down.
    package func flooredQuotient(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}

private func putDecimal(
    _ number: Int64, digits: Int, then end: Unicode.Scalar, at start: Int, in text: inout MutableSpan<UInt8>
) {
    var rest = number
    for position in stride(from: start + digits - 1, through: start, by: -1) {
        text[position] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
    }
    text[start + digits] = UInt8(ascii: end)
}
