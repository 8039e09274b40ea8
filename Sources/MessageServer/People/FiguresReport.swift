package import BalloonJSON
package import BalloonPOSIX

/// The report about the conversations of a business, from `DATA/figures/SLUG/YYYY-MM-DD.jsonl`.
///
/// Files are read in parts, and of each answer only its seconds are kept, so that a million lines take little memory.
package struct FiguresReport: Sendable {
    /// The groups for which a report has rows.
    package enum Grouping: String, CaseIterable, Sendable {
        /// The hour of the day in which the conversation or the hand-off began, in UTC.
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
        var first: [UInt32] = []
        var later: [UInt32] = []

        /// The seconds within which a part of the first answers, or of the later ones, was given; nil without any.
        package func seconds(_ part: Double, later isLater: Bool = false) -> Int? {
            let answers = isLater ? later : first
            guard !answers.isEmpty else { return nil }
            return Int(answers[min(answers.count - 1, Int(Double(answers.count) * part))])
        }
    }

    /// The rows by their group, sorted; the sum has the empty name.
    package private(set) var rows: [(name: String, row: Row)] = []
    /// The number of lines that are damaged.
    package private(set) var damaged = 0

    static let prefix = ""

    /// Computes the report from the files of a business: everything from `from` until before `to`.
    ///
    /// Throws when a folder or a file cannot be read.
    package init(
        dataDirectory: String, slug: String, from: Timestamp, to: Timestamp, by grouping: Grouping?
    ) throws {
        let files = DayFiles(directory: dataDirectory + "/figures", prefix: Self.prefix)
        var groups: [String: Row] = [:]
        var sum = Row()
        var handOffs: Set<Int> = []
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
                if let key = root["key"]?.int, !handOffs.insert(key).inserted { return }
                sum.add(root)
                switch grouping {
                case .hour:
                    let began = root["began"]?.string ?? at
                    groups[String(began.dropFirst(11).prefix(2)), default: Row()].add(root)
                case .queue: groups[root["queue"]?.string ?? "-", default: Row()].add(root)
                case .person:
                    for person in root["persons"]?.elements.compactMap(\.string) ?? [] {
                        groups[person, default: Row()].add(root)
                    }
                case nil: break
                }
            }
        }
        rows = [(name: "", row: sum.sorted)]
        for (name, row) in groups.sorted(by: { $0.key < $1.key }) { rows.append((name, row.sorted)) }
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
        }
    }

    /// The report as CSV (RFC 4180), with a line of names.
    package var csv: String {
        let names =
            "group,conversations,byBot,byPeople,unanswered,askedFor,handedOff,firstP50,firstP90,laterP50,laterP90,"
            + "consents,withdrawals"
        let lines = rows.map { name, row in
            let quoted = "\"\(name.replacing("\"", with: "\"\""))\""
            let numbers: [Int?] = [
                row.conversations, row.byBot, row.byPeople, row.unanswered, row.askedFor, row.handedOff,
                row.seconds(0.5), row.seconds(0.9), row.seconds(0.5, later: true),
                row.seconds(0.9, later: true), row.consents, row.withdrawals,
            ]
            return ([quoted] + numbers.map { $0.map { "\($0)" } ?? "" }).joined(separator: ",")
        }
        return ([names] + lines).map { $0 + "\r\n" }.joined()
    }
}

extension FiguresReport.Row {
    /// Writes the members of the row; times are in seconds.
    package func write(_ name: String, to writer: inout JSONWriter) {
        writer.field("group", name)
        writer.field("conversations", conversations)
        writer.field("byBot", byBot)
        writer.field("byPeople", byPeople)
        writer.field("unanswered", unanswered)
        writer.field("askedFor", askedFor)
        writer.field("handedOff", handedOff)
        writer.field("firstP50", seconds(0.5))
        writer.field("firstP90", seconds(0.9))
        writer.field("laterP50", seconds(0.5, later: true))
        writer.field("laterP90", seconds(0.9, later: true))
        writer.field("consents", consents)
        writer.field("withdrawals", withdrawals)
    }

    fileprivate mutating func add(_ root: JSONValue) {
        if root["type"]?.equals("handOff") == true {
            if root["why"]?.equals("customer") == true { askedFor += 1 } else { handedOff += 1 }
            return
        }
        conversations += 1
        if root["by"]?.equals("bot") == true { byBot += 1 }
        if root["by"]?.equals("person") == true { byPeople += 1 }
        if root["unanswered"] != nil { unanswered += 1 }
        if let consent = root["consent"] {
            if consent.equals("given") { consents += 1 } else { withdrawals += 1 }
        }
        if let time = root["first"]?.int { first.append(UInt32(clamping: time / 1000)) }
        for time in root["later"]?.elements.compactMap(\.int) ?? [] {
            later.append(UInt32(clamping: time / 1000))
        }
    }

    fileprivate var sorted: Self {
        var row = self
        row.first.sort()
        row.later.sort()
        return row
    }
}
