import BalloonJSON
import BalloonPOSIX
import MessageStore
import Testing

@testable import MessageServer

@Suite struct OpeningHoursTests {
    static let week =
        #"{"mon-fri": ["09:00-12:00", "13:00-18:00"], "sat": ["22:00-24:00"], "sun": ["00:00-04:00"]}"#

    static func read(_ json: String) throws -> (hours: OpeningHours?, problems: [ConfigurationProblem]) {
        var problems: [ConfigurationProblem] = []
        let root = try JSONDocument(Array(json.utf8)).root
        let hours = ObjectReader.read(root, file: "fish.json", noting: &problems) { OpeningHours.read(&$0) }
        return (hours, problems)
    }

    static func hours(week: String = week, dates: String = "{}") throws -> OpeningHours {
        let (hours, problems) = try read(#"{"zone": "Europe/Berlin", "week": \#(week), "dates": \#(dates)}"#)
        #expect(problems.isEmpty)
        return try #require(hours)
    }

    static func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    private static let dates = #"{"2026-12-24": ["09:00-12:00"], "12-25": [], "12-26": []}"#

    /// 23 December 2026 is a Wednesday; Berlin is an hour ahead of UTC.
    @Test(arguments: [
        ("2026-12-23T07:59:59+00:00", 60, "2026-12-23T09:01:00+01:00"),
        ("2026-12-23T09:00:00+01:00", 3 * 3600, "2026-12-23T12:00:00+01:00"),
        ("2026-12-23T09:00:00+01:00", 3 * 3600 + 1, "2026-12-23T13:00:01+01:00"),
        ("2026-12-23T17:59:00+01:00", 120, "2026-12-24T09:01:00+01:00"),
        ("2026-12-24T11:59:00+01:00", 120, "2026-12-26T22:01:00+01:00"),
        ("2026-12-19T23:00:00+01:00", 2 * 3600, "2026-12-20T01:00:00+01:00"),
        // Clocks are set forward at 2 on 29 March 2026, and back at 3 on 25 October.
        ("2026-03-29T01:00:00+01:00", 2 * 3600, "2026-03-29T04:00:00+02:00"),
        ("2026-10-25T01:00:00+02:00", 4 * 3600, "2026-10-25T04:00:00+01:00"),
    ])
    func `a wait counts opening time only, also over breaks, holidays and changes of the clocks`(
        _ start: String, _ seconds: Int, _ end: String
    ) throws {
        var dates = Self.dates
        // The holiday would be a Saturday, whose night begins at 22.
        if start.hasPrefix("2026-12-24") { dates = #"{"2026-12-24": ["09:00-12:00"], "12-25": []}"# }
        let opening = OpeningTime(hours: try Self.hours(dates: dates), closings: [])
        let (start, end) = (try Self.time(start), try Self.time(end))
        #expect(opening.end(of: .seconds(seconds), since: start) == end)
        #expect(opening.milliseconds(from: start, to: end) == Int64(seconds) * 1000)
        #expect(opening.isOver(.seconds(seconds), since: start, at: end))
        #expect(
            !opening.isOver(
                .seconds(seconds), since: start, at: Timestamp(milliseconds: end.milliseconds - 1)))
    }

    @Test(
        arguments: [
            ("2026-12-23T09:00:00+01:00", nil), ("2026-12-23T12:00:00+01:00", "2026-12-23T13:00:00+01:00"),
            ("2026-12-23T18:00:00+01:00", "2026-12-24T09:00:00+01:00"),
            ("2026-12-23T08:59:59+01:00", "2026-12-23T09:00:00+01:00"),
            ("2026-12-24T12:00:00+01:00", "2026-12-27T00:00:00+01:00"), ("2026-12-27T03:59:59+01:00", nil),
            ("2026-03-27T18:00:00+01:00", "2026-03-28T22:00:00+01:00"),
            ("2026-03-29T05:00:00+02:00", "2026-03-30T09:00:00+02:00"),
        ] as [(String, String?)])
    func `a closed business says when it opens`(_ now: String, _ opensAt: String?) throws {
        let opening = OpeningTime(hours: try Self.hours(dates: Self.dates), closings: [])
        #expect(opening.opensAt(after: try Self.time(now)) == (try opensAt.map { try Self.time($0) }))
        #expect(opening.isOpen(at: try Self.time(now)) == (opensAt == nil))
    }

    @Test func `a time at which people closed by hand is no opening time`() throws {
        let (from, until) = (
            try Self.time("2026-12-21T10:00:00+01:00"), try Self.time("2026-12-21T14:00:00+01:00")
        )
        let opening = OpeningTime(hours: try Self.hours(), closings: [from..<until])
        #expect(opening.opensAt(after: from) == until)
        let start = try Self.time("2026-12-21T09:30:00+01:00")
        #expect(opening.end(of: .seconds(3600), since: start) == (try Self.time("2026-12-21T14:30:00+01:00")))
        let lasting = OpeningTime(hours: try Self.hours(), closings: [from..<Timestamp.never])
        #expect(lasting.opensAt(after: until) == nil)
        #expect(lasting.end(of: .seconds(3600), since: start) == nil)
        #expect(!lasting.isOpen(at: until))
    }

    /// In the Azores clocks are set back at 1 on 25 October 2026, and show midnight twice; in Berlin at 3.
    @Test(arguments: [
        (
            "Atlantic/Azores", #"["00:00-24:00"]"#, "2026-10-24T00:00:00+00:00", "2026-10-26T00:00:00-01:00",
            49
        ),
        (
            "Europe/Berlin", #"["00:00-02:30", "02:30-24:00"]"#, "2026-10-25T00:00:00+02:00",
            "2026-10-26T00:00:00+01:00", 25
        ),
        (
            "Europe/Berlin", #"["01:00-02:10", "02:20-05:00"]"#, "2026-10-25T00:00:00+02:00",
            "2026-10-26T00:00:00+01:00", 5
        ),
    ])
    func `no time counts twice when clocks are set back`(
        _ zone: String, _ spans: String, _ from: String, _ to: String, _ hours: Int64
    ) throws {
        let (read, problems) = try Self.read(#"{"zone": "\#(zone)", "week": {"mon-sun": \#(spans)}}"#)
        #expect(problems.isEmpty)
        let opening = OpeningTime(hours: read, closings: [])
        let (from, to) = (try Self.time(from), try Self.time(to))
        #expect(opening.milliseconds(from: from, to: to) == hours * 3_600_000)
        #expect(opening.end(of: .seconds(hours * 3600), since: from) ?? .never <= to)
    }

    @Test func `without hours all time counts, and only a closing with an end says when it opens`() throws {
        let (from, until) = (Timestamp(milliseconds: 0), Timestamp(milliseconds: 5000))
        for closings in [[], [from..<until], [from..<Timestamp.never]] {
            let opening = OpeningTime(hours: nil, closings: closings)
            #expect(opening.end(of: .seconds(3), since: from) == Timestamp(milliseconds: 3000))
            #expect(opening.isOpen(at: from))
            #expect(opening.opensAt(after: from) == (closings == [from..<until] ? until : nil))
        }
    }

    @Test func `a business that never opens has waits without an end`() throws {
        let opening = OpeningTime(hours: try Self.hours(week: "{}"), closings: [])
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        #expect(opening.end(of: .seconds(60), since: now) == nil)
        #expect(opening.opensAt(after: now) == nil)
        #expect(
            !opening.isOpen(at: now)
                && !opening.isOver(.seconds(60), since: Timestamp(milliseconds: 0), at: now))
    }

    @Test(
        arguments: [
            (#"{}"#, "has no \"zone\""),
            (#"{"zone": "Mars/Olympus", "week": {}}"#, "is not a time zone of this system"),
            (#"{"zone": "UTC", "week": {"mon": ["9-12"]}}"#, "is no span of a day"),
            (#"{"zone": "UTC", "week": {"mon": ["09:00-25:00"]}}"#, "is no span of a day"),
            (#"{"zone": "UTC", "week": {"mon": ["09:00-09:00"]}}"#, "is no span of a day"),
            (#"{"zone": "UTC", "week": {"mon": ["09:00-12:00", "11:00-13:00"]}}"#, "or spans that overlap"),
            (#"{"zone": "UTC", "week": {"mon-tue": [], "tue": []}}"#, "has the hours of tue twice"),
            (#"{"zone": "UTC", "week": {"monday": []}}"#, "is not a known key"),
            (#"{"zone": "UTC", "week": {"fri-mon": []}}"#, "is not a known key"),
            (#"{"zone": "UTC", "week": {}, "dates": {"2026-02-30": []}}"#, "is not a known key"),
            (#"{"zone": "UTC", "week": {}, "dates": {"24.12.": []}}"#, "is not a known key"),
            (#"{"zone": "UTC", "week": {}, "dates": {"02-29": [], "2028-02-29": []}}"#, nil),
        ] as [(String, String?)])
    func `hours with a mistake are refused`(_ json: String, _ reason: String?) throws {
        let (_, problems) = try Self.read(json)
        if let reason {
            #expect(problems.contains { $0.reason.contains(reason) })
        } else {
            #expect(problems.isEmpty)
        }
    }

    /// Now is Monday, 21 December 2026, 20:00 in Berlin.
    @Test(
        arguments: [
            ("en_US", "2026-12-21T22:30:00+01:00", "today at 10:30 PM"),
            ("en_GB", "2026-12-22T09:00:00+01:00", "tomorrow at 9 AM"),
            ("de_DE", "2026-12-22T09:00:00+01:00", "morgen um 9 Uhr"),
            ("de_CH", "2026-12-24T13:30:00+01:00", "am Donnerstag um 13:30 Uhr"),
            ("fr_CA", "2026-12-22T09:30:00+01:00", "demain à 9 h 30"),
            ("fr", "2026-12-22T09:00:00+01:00", "demain à 9 h"),
            ("pt-BR", "2026-12-26T09:00:00+01:00", "no sábado às 9:00"),
            ("es_MX", "2027-01-04T09:00:00+01:00", "el 4 de enero a las 9:00"),
            ("ja", "2026-12-27T09:00:00+01:00", "日曜日の9:00"),
            ("fi_FI", "2026-12-22T09:05:00+01:00", "2026-12-22 09:05"),
            ("en", "2026-12-28T00:00:00+01:00", "on 28 December at 12 AM"),
            (nil, "2026-12-27T12:00:00+01:00", "on Sunday at 12 PM"),
        ] as [(String?, String, String)])
    func `the time is said in words of the customer's language`(
        _ locale: String?, _ time: String, _ words: String
    ) throws {
        let now = try Self.time("2026-12-21T20:00:00+01:00")
        let zone = try #require(TimeZoneFile("Europe/Berlin"))
        #expect(OpeningPhrase.words(for: try Self.time(time), at: now, in: zone, locale: locale) == words)
    }

    @Test func `without a zone the time is named in UTC`() throws {
        let time = try Self.time("2026-12-22T09:00:00+01:00")
        #expect(OpeningPhrase.words(for: time, at: time, in: nil, locale: "de") == "2026-12-22 08:00 UTC")
    }
}
