import BalloonPOSIX

extension OpeningHours {
    private static let weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let maximumDates = 400
    private static let maximumSpans = 12

    /// Reads `hours`; nil after reporting a problem.
    static func read(_ reader: inout ObjectReader) -> OpeningHours? {
        reader.require(
            "zone", "week", hint: #"write {"zone": "Europe/Berlin", "week": {"mon-fri": ["09:00-18:00"]}}"#)
        let zone = reader.value("zone") { text throws(InvalidSetting) in
            guard let zone = TimeZoneFile(text) else {
                throw InvalidSetting(
                    "is not a time zone of this system",
                    hint: "write a name such as Europe/Berlin; the package tzdata has the zones")
            }
            return zone
        }
        let week = reader.object("week", readWeek)
        let dates = reader.object("dates", readDates)
        guard let zone, let week else { return nil }
        return OpeningHours(zone: zone, week: week, dates: dates ?? [:])
    }

    private static func readWeek(_ reader: inout ObjectReader) -> [[Span]]? {
        for day in weekdays { reader.has(day) }
        var week: [[Span]?] = Array(repeating: nil, count: weekdays.count)
        for name in reader.names {
            let ends = name.split(separator: "-", omittingEmptySubsequences: false)
                .map { weekdays.firstIndex(of: String($0)) }
            guard ends.count <= 2, let first = ends[0], let last = ends[ends.count - 1], first <= last,
                let spans = spans(name, &reader)
            else { continue }
            for day in first...last {
                if week[day] != nil {
                    reader.problem(
                        "has the hours of \(weekdays[day]) twice", hint: "name each day of the week once")
                }
                week[day] = spans
            }
        }
        return week.map { $0 ?? [] }
    }

    private static func readDates(_ reader: inout ObjectReader) -> [Date: [Span]]? {
        var dates: [Date: [Span]] = [:]
        for name in reader.names.prefix(maximumDates) {
            guard let date = Date(name), let spans = spans(name, &reader) else { continue }
            dates[date] = spans
        }
        return dates
    }

    /// Reads the spans of a day, which follow each other.
    private static func spans(_ key: String, _ reader: inout ObjectReader) -> [Span]? {
        guard let texts = reader.texts(key, mayBeEmpty: true) else { return nil }
        let spans = texts.prefix(maximumSpans).compactMap { text -> Span? in
            let span = Span(text.text)
            if span == nil {
                reader.report(
                    text, "is no span of a day", hint: "write 09:00-12:30; a day ends at 24:00")
            }
            return span
        }
        if texts.count > maximumSpans || zip(spans, spans.dropFirst()).contains(where: { $0.end > $1.begin })
        {
            reader.problem(
                "has more than \(maximumSpans) spans in \"\(key)\", or spans that overlap",
                hint: "write the spans of a day in their order")
        }
        return spans
    }
}

extension OpeningHours.Span {
    /// Reads `09:00-12:30`; nil for another text, and when the end is not after the begin.
    fileprivate init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.second)
        guard ends.count == 2, let begin = ends[0], let end = ends[1], begin < end else { return nil }
        self.init(begin: begin, end: end)
    }

    private static func second(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(twoDigits)
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], hour <= 24, minute < 60,
            hour < 24 || minute == 0
        else { return nil }
        return hour * 3600 + minute * 60
    }
}

extension OpeningHours.Date {
    /// Reads `2026-12-24`, or `12-25` for a day of every year; nil for another text.
    fileprivate init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let isYearly = parts.count == 2
        guard isYearly || parts.count == 3, let day = twoDigits(parts[parts.count - 1]),
            let month = twoDigits(parts[parts.count - 2]), (1...12).contains(month), (1...31).contains(day),
            let year = isYearly ? 2000 : parts[0].utf8.count == 4 ? Int64(parts[0]) : nil,
            (2000...9999).contains(year), parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            civilDate(daysSinceEpoch: daysSinceEpoch(year: year, month: month, day: day)).day == day
        else { return nil }
        self.init(year: isYearly ? nil : year, month: month, day: day)
    }
}

private func twoDigits(_ text: Substring) -> Int64? {
    guard text.utf8.count == 2, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
}
