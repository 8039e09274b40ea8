import BalloonPOSIX
import Testing

@testable import MessageServer

@Suite struct TimeZoneFileTests {
    private static func seconds(_ text: String) -> Int64 {
        (Timestamp(rfc3339: text)?.milliseconds ?? 0) / 1000
    }

    /// The offsets of the zones as their governments have announced them, in minutes.
    @Test(arguments: [
        ("Europe/Berlin", "2026-03-29T00:59:59Z", 60), ("Europe/Berlin", "2026-03-29T01:00:00Z", 120),
        ("Europe/Berlin", "2026-10-25T00:59:59Z", 120), ("Europe/Berlin", "2026-10-25T01:00:00Z", 60),
        ("America/New_York", "2026-03-08T06:59:59Z", -300),
        ("America/New_York", "2026-03-08T07:00:00Z", -240),
        ("America/New_York", "2026-11-01T05:59:59Z", -240),
        ("America/New_York", "2026-11-01T06:00:00Z", -300),
        ("Australia/Sydney", "2026-01-15T00:00:00Z", 660), ("Australia/Sydney", "2026-07-15T00:00:00Z", 600),
        ("Asia/Kolkata", "2026-07-15T00:00:00Z", 330), ("UTC", "2026-07-15T00:00:00Z", 0),
        ("Europe/Berlin", "2080-07-15T00:00:00Z", 120), ("Australia/Sydney", "2080-01-15T00:00:00Z", 660),
        ("Europe/Berlin", "1960-01-15T00:00:00Z", 60),
    ])
    func `a zone of the system has its offset before and after each change of the clocks`(
        _ name: String, _ time: String, _ minutes: Int64
    ) throws {
        let zone = try #require(TimeZoneFile(name))
        #expect(zone.offset(at: Self.seconds(time)) == minutes * 60)
    }

    @Test(arguments: [
        "", "Nowhere", "../../etc/passwd", "/etc/passwd", "Europe", "Europe/", "right/Europe/Berlin",
        "Europe//Berlin",
        "zone.tab", String(repeating: "a", count: 65),
    ])
    func `another name is no zone`(_ name: String) { #expect(TimeZoneFile(name) == nil) }

    /// `last` is the last time at which the clocks show it, when they show it twice.
    @Test(
        arguments: [
            ("2026-03-28", 2.5, "2026-03-28T01:30:00Z", nil),
            ("2026-03-29", 2.5, "2026-03-29T01:00:00Z", nil),
            ("2026-03-29", 3, "2026-03-29T01:00:00Z", nil), ("2026-03-29", 0, "2026-03-28T23:00:00Z", nil),
            ("2026-03-29", 24, "2026-03-29T22:00:00Z", nil),
            ("2026-10-25", 2.5, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
            ("2026-10-25", 3, "2026-10-25T02:00:00Z", nil), ("2026-10-25", 24, "2026-10-25T23:00:00Z", nil),
        ] as [(String, Double, String, String?)])
    func `a time of the day is found also on the days on which clocks change`(
        _ date: String, _ hour: Double, _ first: String, _ last: String?
    ) throws {
        let zone = try #require(TimeZoneFile("Europe/Berlin"))
        let (day, second) = (Self.seconds(date + "T00:00:00Z") / 86_400, Int64(hour * 3600))
        #expect(zone.time(day: day, second: second) == Self.seconds(first))
        #expect(zone.time(day: day, second: second, isLast: true) == Self.seconds(last ?? first))
    }

    @Test(arguments: [
        ("UTC0", "2026-07-01T00:00:00Z", 0), ("<+0330>-3:30", "2026-07-01T00:00:00Z", 210),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-07-01T00:00:00Z", -240),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-12-01T00:00:00Z", -300),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00:00Z", 60),
        ("AAA3BBB,J60/0,J300", "2028-03-01T02:59:59Z", -180),
        ("AAA3BBB,J60/0,J300", "2028-03-01T03:00:00Z", -120),
        ("AAA3BBB,59/0,300", "2028-02-29T03:00:00Z", -120),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -120),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -60),
    ])
    func `a rule says the offset of every time`(_ rule: String, _ time: String, _ minutes: Int64) throws {
        #expect(try #require(ZoneRule(rule[...])).offset(at: Self.seconds(time)) == minutes * 60)
    }

    @Test(arguments: [
        "", "UTC", "0", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/x",
        "CET-1CEST,M3.5.0,M10.5.0,", "CET-999", "<CET-1", "CET-1CEST,J0,J1",
    ])
    func `another text is no rule`(_ text: String) { #expect(ZoneRule(text[...]) == nil) }

    @Test func `a file that is cut off anywhere, or has another byte, never stops the program`() throws {
        let bytes = try Descriptor.open(reading: "/usr/share/zoneinfo/Europe/Berlin").readToEnd(
            maximumBytes: 1 << 18)
        let zone = try #require(TimeZoneFile("a", bytes))
        for count in 0..<bytes.count where count != bytes.count {
            #expect(TimeZoneFile("a", Array(bytes.prefix(count))) == nil)
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var other = bytes
            other[Int.random(in: 0..<other.count, using: &generator)] = .random(
                in: 0...255, using: &generator)
            _ = TimeZoneFile("a", other)?.offset(at: .random(in: -1 << 40...1 << 40, using: &generator))
        }
        #expect(zone.offset(at: 0) == 3600)
    }
}
