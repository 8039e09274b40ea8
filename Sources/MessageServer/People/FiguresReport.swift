package import BalloonJSON
package import BalloonPOSIX

/// The report about the conversations of a business, from `DATA/figures/SLUG/YYYY-MM-DD.jsonl`.
///
/// Files are read in parts, and times of answers are counted by their seconds, so that a million lines take little memory.
package struct FiguresReport: Sendable {
    /// The groups for which a report has rows.
    package enum Grouping: String, CaseIterable, Sendable {
        /// The hour of the day in which the conversation or the hand-off began, in the zone of the hours; in UTC without hours.
        case hour
        case queue
        case person
    }

    /// One row.
    package struct Row: Sendable {
        package var conversations = 0
        package var byBot = 0
        package var byPeople = 0
        package var unanswered = 0
        package var askedFor = 0
        package var handedOff = 0
        package var consents = 0
        package var withdrawals = 0
        /// How many customers gave each score of the survey, from 1 to 5.
        package var scores = [Int](repeating: 0, count: Survey.scores.count)
        /// The times of first and of later answers, of all time and of opening time.
        package fileprivate(set) var first = Times()
        package fileprivate(set) var later = Times()
        package fileprivate(set) var firstOpen = Times()
        package fileprivate(set) var laterOpen = Times()

        /// The percentiles that a report has, by the names of their members.
        fileprivate var percentiles: [(name: String, seconds: Int?)] {
            [("first", first), ("later", later), ("firstOpen", firstOpen), ("laterOpen", laterOpen)].flatMap {
                [($0 + "P50", $1.seconds(0.5)), ($0 + "P90", $1.seconds(0.9))]
            }
        }
    }

    /// How many answers took how many seconds.
    package struct Times: Sendable {
        private var counts: [Int: Int] = [:]
        private var count = 0

        /// The seconds within which a part of the answers was given; nil without any.
        package func seconds(_ part: Double) -> Int? {
            var missing = Int((Double(count) * part).rounded(.up)) - 1
            for (seconds, count) in counts.sorted(by: { $0.key < $1.key }) {
                if missing < count { return seconds }
                missing -= count
            }
            return nil
        }

        /// Adds an answer; from an hour on, only whole minutes count, so that few counts suffice.
        fileprivate mutating func add(milliseconds: Int) {
            let seconds = max(0, milliseconds / 1000)
            counts[seconds < 3600 ? seconds : seconds / 60 * 60, default: 0] += 1
            count += 1
        }

        fileprivate mutating func add(_ list: JSONValue?) {
            for time in list?.elements.compactMap(\.int) ?? [] { add(milliseconds: time) }
        }
    }

    /// The rows by their group, sorted; the sum has the empty name.
    package private(set) var rows: [(name: String, row: Row)] = []
    /// The number of lines that are damaged.
    package private(set) var damaged = 0

    static let prefix = ""
    /// The length of a line with all answers of a conversation is far below.
    private static let maximumLineBytes = 1 << 20

    /// Computes the report from the files of a business: everything from `from` until before `to`.
    ///
    /// Throws when a folder or a file cannot be read.
    package init(
        dataDirectory: String, slug: String, from: Timestamp, to: Timestamp, by grouping: Grouping?
    ) throws {
        let files = DayFiles(directory: dataDirectory + "/figures", prefix: Self.prefix)
        var groups: [String: Row] = [:]
        var sum = Row()
        let (begin, end) = (from.rfc3339, to.rfc3339)
        for path in try files.paths(slug, since: from).sorted() {
            let name = path.split(separator: "/").last.map { String($0.prefix(10)) } ?? ""
            if name > end { break }
            try Self.forEachLine(of: path) { line in
                // A line that is no JSON is damaged.
                guard let root = (try? JSONDocument(Array(line)))?.root, let at = root["at"]?.string else {
                    damaged += 1
                    return
                }
                guard at >= begin, at < end else { return }
                sum.add(root)
                switch grouping {
                case .hour:
                    let began = root["began"]?.string ?? at
                    let hour =
                        root["hour"]?.int.map { ($0 < 10 ? "0" : "") + "\($0)" }
                        ?? String(began.dropFirst(11).prefix(2))
                    groups[hour, default: Row()].add(root)
                case .queue: groups[root["queue"]?.string ?? "-", default: Row()].add(root)
                case .person:
                    for person in root["persons"]?.elements.compactMap(\.string) ?? [] {
                        groups[person, default: Row()].add(root)
                    }
                case nil: break
                }
            }
        }
        rows = [(name: "", row: sum)]
        for (name, row) in groups.sorted(by: { $0.key < $1.key }) { rows.append((name, row)) }
    }

    /// Calls `body` with each line of a file, which is read in parts.
    static func forEachLine(of path: String, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        let file = try File(path, for: .reading)
        let size = try file.sizeBytes()
        var (offset, rest) = (0, [UInt8]())
        while offset < size {
            let part = try file.read(at: offset, count: min(1 << 20, size - offset))
            if part.isEmpty { break }
            offset += part.count
            rest += part
            var start = 0
            while let feed = rest.firstPosition(of: UInt8(ascii: "\n"), from: start) {
                if feed > start { try body(rest[start..<feed]) }
                start = feed + 1
            }
            rest.removeFirst(start)
            // Only a damaged file has such a line; its parts are damaged lines.
            if rest.count > maximumLineBytes {
                try body(rest[...])
                rest = []
            }
        }
    }

    /// The report as CSV (RFC 4180), with a line of names.
    package var csv: String {
        let names =
            "group,conversations,byBot,byPeople,unanswered,askedFor,handedOff,firstP50,firstP90,laterP50,laterP90,"
            + "consents,withdrawals,score1,score2,score3,score4,score5,"
            + "firstOpenP50,firstOpenP90,laterOpenP50,laterOpenP90"
        let lines = rows.map { name, row in
            // Programs read scalars: a sign is one also before a mark that joins it in a character.
            let scalars = name.unicodeScalars
            // A spreadsheet would compute a field that begins so.
            let mark = scalars.first.map("=+-@\t".unicodeScalars.contains) ?? false ? "'" : ""
            let quoted = "\"\(mark)\(scalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined())\""
            let counts = [
                row.conversations, row.byBot, row.byPeople, row.unanswered, row.askedFor, row.handedOff,
            ]
            let times = row.percentiles.map(\.seconds)
            var numbers: [Int?] = counts
            numbers += times.prefix(4)
            numbers += [row.consents, row.withdrawals] + row.scores
            numbers += times.dropFirst(4)
            let cells = numbers.map { number in number.map(String.init) ?? "" }
            return ([quoted] + cells).joined(separator: ",")
        }
        return ([names] + lines).map { $0 + "\r\n" }.joined()
    }
}

extension FiguresReport.Row {
    /// Writes the members of the row; times are in seconds.
    package func write(_ name: String, to writer: inout JSONWriter) {
        writer.fields([
            "group": name, "conversations": conversations, "byBot": byBot, "byPeople": byPeople,
            "unanswered": unanswered, "askedFor": askedFor, "handedOff": handedOff,
        ])
        for (name, seconds) in percentiles { writer.field(name, seconds) }
        writer.fields(["consents": consents, "withdrawals": withdrawals])
        writer.list("scores", scores) { $1.int($0) }
    }

    fileprivate mutating func add(_ root: JSONValue) {
        if root["type"]?.equals("handOff") == true {
            if root["why"]?.equals("customer") == true { askedFor += 1 } else { handedOff += 1 }
            return
        }
        if let score = root["survey"]?.int, Survey.scores.contains(score) { scores[score - 1] += 1 }
        // A customer who only answered the survey had no conversation.
        if root["messages"]?.int == 0 { return }
        conversations += 1
        if root["by"]?.equals("bot") == true { byBot += 1 }
        if root["by"]?.equals("person") == true { byPeople += 1 }
        if root["unanswered"] != nil { unanswered += 1 }
        if let consent = root["consent"] {
            if consent.equals("given") { consents += 1 } else { withdrawals += 1 }
        }
        if let time = root["first"]?.int { first.add(milliseconds: time) }
        if let time = root["firstOpen"]?.int { firstOpen.add(milliseconds: time) }
        later.add(root["later"])
        laterOpen.add(root["laterOpen"])
    }
}
