package import BalloonPOSIX

/// When people answer: spans of time on the days of the week and on dates, in a time zone.
///
/// ```json
/// {"zone": "Europe/Berlin", "week": {"mon-fri": ["09:00-12:30", "13:30-18:00"], "sat": ["10:00-14:00"]},
///  "dates": {"2026-12-24": ["09:00-12:00"], "12-25": []}}
/// ```
package struct OpeningHours: Hashable, Sendable {
    /// A part of a day, in seconds as clocks show them; it ends before `end`, at most 86,400.
    struct Span: Hashable {
        let begin: Int64
        let end: Int64
    }

    /// A date; without a year it is a day of every year.
    struct Date: Hashable {
        var year: Int64?
        let month: Int64
        let day: Int64
    }

    /// The zone whose clocks count.
    let zone: TimeZoneFile
    /// The spans of each day of the week, Monday first.
    let week: [[Span]]
    /// The spans of dates, which replace those of the day of the week; none means that nobody answers.
    let dates: [Date: [Span]]

    /// The number of days that are searched for an opening.
    private static let searchedDays: Int64 = 400
    /// The end of a day, which is the begin of the next one, also when clocks show midnight twice.
    private static let daySeconds: Int64 = 86_400

    /// The day that clocks of the zone show, counted from 1970.
    func day(of time: Timestamp) -> Int64 {
        let seconds = time.milliseconds.flooredQuotient(by: 1000)
        return (seconds + zone.offset(at: seconds)).flooredQuotient(by: 86_400)
    }

    /// The times at which people answer from the day of a time on, the earliest first.
    func openings(from time: Timestamp) -> some Sequence<Range<Timestamp>> {
        let first = day(of: time)
        return (first..<first + Self.searchedDays).lazy.flatMap { openings(on: $0) }
    }

    /// The same hours, with a day on which nobody answers: that of a time.
    package func closed(onDayOf time: Timestamp) -> OpeningHours {
        let date = civilDate(daysSinceEpoch: day(of: time))
        let closed = [Date(year: date.year, month: date.month, day: date.day): [Span]()]
        return OpeningHours(zone: zone, week: week, dates: dates.merging(closed) { $1 })
    }

    private func openings(on day: Int64) -> [Range<Timestamp>] {
        let date = civilDate(daysSinceEpoch: day)
        let yearly = Date(month: date.month, day: date.day)
        let spans = dates[Date(year: date.year, month: date.month, day: date.day)] ?? dates[yearly]
        // 1 January 1970 was a Thursday.
        let weekday = Int(day + 3 - (day + 3).flooredQuotient(by: 7) * 7)
        var last = Int64.min
        return (spans ?? week[weekday]).compactMap { span in
            // Clocks that are set back may show the end of one span after the begin of the next one.
            let begin = max(last, zone.time(day: day, second: span.begin))
            let end = zone.time(day: day, second: span.end, isLast: span.end < Self.daySeconds)
            // Clocks that are set forward may skip a whole span.
            guard begin < end else { return nil }
            last = end
            return Timestamp(milliseconds: begin * 1000)..<Timestamp(milliseconds: end * 1000)
        }
    }
}

/// When the people of a queue or a business answer: its hours, without the times at which they closed by hand.
///
/// Without hours all time counts, also while people have closed by hand.
struct OpeningTime {
    let hours: OpeningHours?
    /// The times at which people closed by hand, the earliest first; the last one may be without an end.
    let closings: [Range<Timestamp>]

    /// Whether the hours and the people let customers expect an answer now.
    func isOpen(at now: Timestamp) -> Bool {
        hours == nil || openings(from: now).first { $0.upperBound > now }?.lowerBound ?? .never <= now
    }

    /// When people answer again; nil while it is open, and when nothing says when.
    func opensAt(after now: Timestamp) -> Timestamp? {
        guard hours != nil else {
            let end = closings.first { $0.contains(now) }?.upperBound
            return end == .never ? nil : end
        }
        let next = openings(from: now).first { $0.upperBound > now }?.lowerBound
        return next.flatMap { $0 <= now ? nil : $0 }
    }

    /// When an amount of opening time since `start` is over; nil when that is not within 400 days.
    func end(of wait: Duration, since start: Timestamp) -> Timestamp? {
        guard hours != nil else { return start.advanced(by: wait) }
        var missing = Int64(wait.wholeMilliseconds)
        for opening in openings(from: start) where opening.upperBound > start {
            let begin = max(opening.lowerBound, start)
            let length = opening.upperBound.milliseconds - begin.milliseconds
            if length >= missing { return begin.advanced(by: .milliseconds(missing)) }
            missing -= length
        }
        return nil
    }

    /// Whether an amount of opening time since `start` is over.
    func isOver(_ wait: Duration, since start: Timestamp, at now: Timestamp) -> Bool {
        // Opening time is never longer than time, so most waits need no search.
        guard start.advanced(by: wait) <= now else { return false }
        return hours == nil || end(of: wait, since: start).map { $0 <= now } ?? false
    }

    /// The milliseconds of opening time between two times.
    func milliseconds(from start: Timestamp, to end: Timestamp) -> Int64 {
        let all = hours == nil ? AnySequence([start..<max(start, end)]) : AnySequence(openings(from: start))
        return all.prefix { $0.lowerBound < end }.reduce(0) { sum, opening in
            let begin = max(opening.lowerBound, start).milliseconds
            return sum + max(0, min(opening.upperBound, end).milliseconds - begin)
        }
    }

    private func openings(from time: Timestamp) -> some Sequence<Range<Timestamp>> {
        (hours.map { AnySequence($0.openings(from: time)) } ?? AnySequence([])).lazy.flatMap { opening in
            closings.reduce([opening]) { parts, closing in parts.flatMap { $0.without(closing) } }
        }
    }
}

extension Timestamp {
    /// The end of a time that has none.
    static let never = Timestamp(milliseconds: .max)
}

extension Range {
    /// The parts of this range that are not in another one.
    fileprivate func without(_ other: Range) -> [Range] {
        guard overlaps(other) else { return [self] }
        return [
            lowerBound..<Swift.max(lowerBound, Swift.min(upperBound, other.lowerBound)),
            Swift.min(upperBound, Swift.max(lowerBound, other.upperBound))..<upperBound,
        ].filter { !$0.isEmpty }
    }
}
