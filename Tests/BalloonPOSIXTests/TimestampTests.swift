import BalloonPOSIX
import Testing

struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_795_255_200_123, "2026-11-21T10:00:00.123Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func `an instant that is written and parsed again is unchanged`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
        var bytes = Array("at ".utf8)
        Timestamp(milliseconds: milliseconds).append(to: &bytes)
        #expect(bytes == Array(("at " + text).utf8))
    }

    @Test func `the days of four centuries follow each other without a gap`() throws {
        var expected = (year: 1900, month: 1, day: 1)
        let start = try #require(Timestamp(rfc3339: "1900-01-01T00:00:00Z"))
        for day in 0..<146_097 {
            let text = Timestamp(milliseconds: start.milliseconds + Int64(day) * 86_400_000).rfc3339
            let date = text.prefix(10).split(separator: "-").compactMap { Int($0) }
            guard date == [expected.year, expected.month, expected.day] else {
                Issue.record("\(text) instead of \(expected)")
                return
            }
            expected = next(expected)
        }
    }

    private func next(_ date: (year: Int, month: Int, day: Int)) -> (year: Int, month: Int, day: Int) {
        let isLeap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        if date.day < lengths[date.month - 1] { return (date.year, date.month, date.day + 1) }
        return date.month < 12 ? (date.year, date.month + 1, 1) : (date.year + 1, 1, 1)
    }

    @Test(arguments: [
        ("2026-11-21T10:00:00Z", 0), ("2026-11-21T12:30:00+02:30", 0), ("2026-11-20T22:00:00-12:00", 0),
        ("2026-11-21t10:00:00.5z", 500), ("2026-11-21T10:00:00.123999Z", 123),
        ("2026-11-21T10:00:00.0009Z", 0),
    ])
    func `other spellings of the same instant are parsed`(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == 1_795_255_200_000 + milliseconds)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21 10:00:00Z", "2026-11-21T10:00:00", "2026-11-21T10:00Z",
        "2026-11-21T10:00:00.Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-00T00:00:00Z",
        "2026-11-31T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z", "2026-11-21T10:00:60Z",
        "2026-11-21T10:00:00+0200", "2026-11-21T10:00:00+24:00", "2026-11-21T10:00:00Zx",
        "+026-11-21T10:00:00Z",
        "2026-11-21T10:00:00.1234567890123456789012",
    ])
    func `text that is not a time of RFC 3339 is refused`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func `instants outside four-digit years are clamped`() {
        #expect(Timestamp(milliseconds: .min).rfc3339 == "0000-01-01T00:00:00.000Z")
        #expect(Timestamp(milliseconds: .max).rfc3339 == "9999-12-31T23:59:59.999Z")
    }

    @Test func `the current time increases`() {
        let first = Timestamp.now()
        #expect(first <= Timestamp.now())
        #expect(first > Timestamp(milliseconds: 1_700_000_000_000))
        #expect("\(first)" == first.rfc3339)
    }
}
