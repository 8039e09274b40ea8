import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Logging
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// The figures of ended conversations, and the report about them.
@Suite struct FiguresTests {
    private static let day = Int64(86_400_000)

    /// The lines of a conversation: who, and the seconds since its begin.
    ///
    /// `waiting` is the line of an assignment, also with a queue: `waiting returns`.
    private func lines(_ steps: [(String, Int64)]) throws -> [ConversationLine] {
        try steps.enumerated().map { index, step in
            let (words, seconds) = step
            let parts = words.split(separator: " ").map(String.init)
            let who = parts[0]
            let isAssignment = Assignment.State(rawValue: who) != nil
            let json = JSONWriter.object { writer in
                writer.field("seq", index + 1)
                writer.field("at", Timestamp(milliseconds: seconds * 1000).rfc3339)
                let isInbound = ["customer", "tapback", "close", "typing"].contains(who)
                let isInternal = isAssignment || ["consent", "survey"].contains(who)
                let direction = isInbound ? "inbound" : isInternal ? "internal" : "outbound"
                writer.field("direction", direction)
                writer.field("id", "m\(index)")
                let kinds = [
                    "close": "close", "typing": "typingStart", "consent": "consent", "survey": "survey",
                ]
                writer.field("kind", kinds[who] ?? "text")
                writer.field("customer", "c")
                writer.field("record", index + 1)
                if direction == "outbound" {
                    writer.field("outcome", who == "refused" ? "refused" : "accepted")
                    let author =
                        ["bot": "handler", "server": "server", "program": "program"][who] ?? "person"
                    writer.field("author", author)
                    if author == "person" { writer.object("person") { $0.field("id", who) } }
                }
                writer.object("message") {
                    $0.field("type", isAssignment ? "assignment" : who)
                    if isAssignment {
                        $0.field("state", who)
                        $0.field("queue", parts.dropFirst().first)
                    }
                    if who == "tapback" { $0.field("body", "Liked “Hello”") }
                    if who == "consent" {
                        $0.field("state", "withdrawn")
                        $0.field("at", Timestamp(milliseconds: steps[index - 1].1 * 1000).rfc3339)
                    }
                    if who == "survey" { $0.field("score", 5) }
                }
            }
            return try #require(ConversationLine(json))
        }
    }

    struct Row: CustomTestStringConvertible {
        let name: String
        let lines: [(String, Int64)]
        /// For each conversation: who resolved it, the messages, the seconds of the answers, and the rest.
        let expected: [String]
        var testDescription: String { name }
    }

    @Test(arguments: [
        Row(
            name: "the bot's answer that hands off is no answer, before the line of the hand-off",
            lines: [("customer", 0), ("bot", 1), ("waiting", 2), ("person", 60), ("ana", 70)],
            expected: ["person 1 70"]),
        Row(
            name: "and after it",
            lines: [
                ("customer", 0), ("bot", 1), ("customer", 5), ("waiting", 6), ("bot", 7), ("person", 60),
                ("ana", 65), ("customer", 100), ("program", 105), ("ana", 130),
            ],
            expected: ["person 3 60 30"]),
        Row(
            name: "a person who begins by herself answers nothing",
            lines: [("customer", 0), ("bot", 1), ("person", 60), ("ana", 70)], expected: ["person 1"]),
        Row(
            name: "a customer who waits for a person is not the bot's, and the queue is known",
            lines: [("customer", 0), ("bot", 1), ("waiting", 2), ("waiting returns", 3), ("handler", 80)],
            expected: ["none 1 returns unanswered"]),
        Row(
            name: "nor is one to whom the bot writes again",
            lines: [("customer", 0), ("waiting", 1), ("handler", 80), ("bot", 81)], expected: ["none 1"]),
        Row(
            name: "a tapback needs no answer", lines: [("customer", 0), ("bot", 1), ("tapback", 2)],
            expected: ["bot 2"]),
        Row(
            name: "nor does a word about notices, and the question before it does",
            lines: [("customer", 0), ("bot", 1), ("customer", 2), ("customer", 3), ("consent", 4)],
            expected: ["bot 3 unanswered"]),
        Row(
            name: "a close by the business ends a conversation, to which the survey belongs",
            lines: [
                ("customer", 0), ("waiting returns", 1), ("person returns", 2), ("ana", 3), ("closed", 4),
                ("survey", 5), ("customer", 9), ("bot", 10), ("customer", 11), ("bot", 12),
            ],
            expected: ["person 1 3 returns survey", "bot 2"]),
        Row(
            name: "the person writes again after the own close",
            lines: [
                ("customer", 0), ("bot", 1), ("closed", 2), ("person", 3), ("ana", 4), ("customer", 9),
                ("ana", 12),
            ],
            expected: ["person 2 3"]),
        Row(
            name: "a silence ends a conversation, and the person keeps the queue",
            lines: [
                ("customer", 0), ("waiting returns", 1), ("person returns", 2), ("ana", 3),
                ("customer", 3602), ("ana", 3605), ("customer", 7205), ("ana", 7206), ("survey", 9000),
                ("survey", 90_000),
            ],
            expected: [
                "person 2 3 3 returns", "person 1 1 returns survey", "none 0 returns survey",
            ]),
    ])
    func `figures follow the assignments, the closes and the silences`(_ row: Row) throws {
        let found = ConversationFigures.all(
            try lines(row.lines), of: BusinessID("b"), after: .seconds(3600)
        ) { _ in OpeningTime(hours: nil, closings: []) }
        let words = found.map { one in
            let times = ([one.first].compactMap(\.self) + one.later).map { "\($0 / 1000)" }
            let rest = [
                one.queue, one.isUnanswered ? "unanswered" : nil, one.survey == nil ? nil : "survey",
            ]
            return ([one.by, "\(one.messages)"] + times + rest.compactMap(\.self)).joined(separator: " ")
        }
        #expect(words == row.expected)
    }

    @Test
    func `answers of people count from the customer's first unanswered message, and automatic texts do not`()
        throws
    {
        let found = Self.all(
            try lines([
                ("customer", 0), ("bot", 1), ("typing", 9), ("customer", 10), ("server", 11),
                ("customer", 20), ("person returns", 60), ("ana", 70),
                ("customer", 100), ("ben", 130), ("ana", 140), ("customer", 200), ("refused", 201),
            ]))
        let one = try #require(found.first)
        #expect(
            found.count == 1 && one.by == "person" && one.persons == ["ana", "ben"] && one.queue == "returns")
        #expect(one.first == 60_000 && one.later == [30_000] && one.messages == 5 && one.isUnanswered)
    }

    @Test func `a close of the customer ends a conversation, and one without the customer does not count`()
        throws
    {
        let found = Self.all(
            try lines([
                ("program", 0), ("customer", 5), ("bot", 6), ("close", 7), ("customer", 20), ("consent", 21),
            ]))
        #expect(found.map(\.by) == ["bot", "none"])
        #expect(found.map(\.isUnanswered) == [false, false])
        #expect(found.map(\.consent) == [nil, "withdrawn"] && found.map(\.queue) == [nil, nil])
        #expect(Self.all(try lines([("program", 0), ("ana", 1)])).isEmpty)
        let late = Self.all(try lines([("program", 0), ("survey", 9)]))
        #expect(late.map(\.survey) == [5] && late.map(\.messages) == [0])
    }

    @Test func `answers count in opening time too, and hours of the day are those of the business`() throws {
        let opening = OpeningTime(
            hours: try OpeningHoursTests.hours(week: #"{"mon-fri": ["09:00-18:00"]}"#), closings: [])
        // 1 January 1970 was a Thursday; Berlin is an hour ahead of UTC. The answer comes on Friday at 9:01.
        let evening = Int64(16 * 3600 + 59 * 60)
        let found = ConversationFigures.all(
            try lines([("customer", evening), ("ana", evening + 15 * 3600 + 120)]), of: BusinessID("b"),
            after: NewConversation.silence
        ) { _ in opening }
        let one = try #require(found.first)
        #expect(one.first == 54_120_000 && one.firstOpen == 120_000 && one.hour == 17)
        let directory = TemporaryDirectory()
        let files = DayFiles(directory: directory.file("figures"), prefix: FiguresReport.prefix)
        try files.append(one.json, at: one.at, "one")
        let rows = try report(directory, by: .hour).rows
        #expect(rows.map(\.name) == ["", "17"])
        #expect(rows[1].row.first.seconds(0.5) == 54_120 && rows[1].row.firstOpen.seconds(0.5) == 120)
    }

    private static func all(_ lines: [ConversationLine]) -> [ConversationFigures] {
        ConversationFigures.all(lines, of: BusinessID("b"), after: NewConversation.silence) { _ in
            OpeningTime(hours: nil, closings: [])
        }
    }

    private func report(
        _ directory: TemporaryDirectory, data: String? = nil, by: FiguresReport.Grouping? = nil,
        days: ClosedRange<Int64> = 0...9
    ) throws -> FiguresReport {
        try FiguresReport(
            dataDirectory: data.map { directory.file($0) } ?? directory.path, slug: "one",
            from: Timestamp(milliseconds: days.lowerBound * Self.day),
            to: Timestamp(milliseconds: days.upperBound * Self.day), by: by)
    }

    @Test func `a report sums lines up by group, and skips damage`() throws {
        let directory = TemporaryDirectory()
        let files = DayFiles(directory: directory.file("figures"), prefix: FiguresReport.prefix)
        func write(_ json: String, _ day: Int64 = 1) throws {
            try files.append(Array(json.utf8), at: Timestamp(milliseconds: day * Self.day), "one")
        }
        for number in 1...10 {
            try write(
                #"{"at":"1970-01-02T10:00:00.000Z","type":"conversation","began":"1970-01-02T0\#(number % 2):00:00.000Z","by":"person","queue":"q\#(number % 2)","persons":["ana","p\#(number % 2)"],"first":\#(number * 1000),"later":[5000]}"#
            )
        }
        let handOff =
            #"{"at":"1970-01-02T10:00:00.000Z","type":"handOff","key":7,"why":"customer","queue":"q1"}"#
        try write(handOff)
        try write("not JSON")
        try write(
            #"{"at":"1970-01-06T00:00:00.000Z","type":"conversation","by":"bot","consent":"given","unanswered":true}"#,
            5)
        try write(#"{"at":"1970-01-06T00:00:00.000Z","type":"conversation","messages":0,"survey":4}"#, 5)
        let all = try report(directory)
        let sum = try #require(all.rows.first?.row)
        #expect(sum.conversations == 11 && sum.byPeople == 10 && sum.byBot == 1 && sum.askedFor == 1)
        #expect(sum.consents == 1 && sum.unanswered == 1 && all.damaged == 1)
        #expect(sum.scores == [0, 0, 0, 1, 0])
        #expect(sum.first.seconds(0.5) == 5 && sum.first.seconds(0.9) == 9)
        #expect(sum.later.seconds(0.5) == 5 && sum.laterOpen.seconds(0.5) == nil)
        #expect(try report(directory, days: 0...3).rows[0].row.conversations == 10)
        #expect(try report(directory, by: .queue, days: 0...3).rows.map(\.name) == ["", "q0", "q1"])
        #expect(
            try report(directory, by: .person, days: 0...3).rows.map(\.row.conversations) == [10, 10, 5, 5])
        #expect(try report(directory, by: .hour, days: 0...3).rows.map(\.name) == ["", "00", "01", "10"])
        #expect(
            try report(directory).csv.split(separator: "\r\n")[1].hasPrefix(
                "\"\",11,1,10,1,1,0,5,9,5,5,1,0,0,0,0,1,0,,,,")
        )
        #expect(try report(TemporaryDirectory()).rows[0].row.conversations == 0)
    }

    @Test(arguments: [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"), ("+49", "'+49"), ("-", "'-"), ("@a", "'@a"), ("\t=1", "'\t=1"),
        ("ana=\"x\"", "ana=\"\"x\"\""), ("=\u{FE0F}1+1", "'=\u{FE0F}1+1"),
        ("a\"\u{301},=1+1", "a\"\"\u{301},=1+1"),
    ])
    func `a spreadsheet computes no name of a group`(name: String, field: String) throws {
        let directory = TemporaryDirectory()
        let files = DayFiles(directory: directory.file("figures"), prefix: FiguresReport.prefix)
        let line = JSONWriter.object([
            "at": "1970-01-02T00:00:00.000Z", "type": "conversation", "persons": [name],
        ])
        try files.append(line, at: Timestamp(milliseconds: Self.day), "one")
        let csv = try report(directory, by: .person).csv
        #expect(csv.split(separator: "\r\n")[2].utf8.starts(with: "\"\(field)\",1,".utf8))
    }

    @Test func `a file that is damaged by megabytes without a line feed is read in parts`() throws {
        let directory = TemporaryDirectory()
        let line = Array(#"{"at":"1970-01-01T00:00:00.000Z","type":"conversation","by":"bot"}"#.utf8)
        try Directory.make(directory.file("figures/one"))
        let damage = [UInt8](repeating: 0, count: 5 << 20)
        try AtomicFile.write(
            line + [0x0A] + damage + [0x0A] + line + [0x0A],
            to: directory.file("figures/one/1970-01-01.jsonl"))
        var lengths: [Int] = []
        try FiguresReport.forEachLine(of: directory.file("figures/one/1970-01-01.jsonl")) {
            lengths.append($0.count)
        }
        #expect(lengths.allSatisfy { $0 <= 3 << 20 } && lengths.reduce(0, +) == damage.count + 2 * line.count)
        let all = try report(directory)
        #expect(all.rows[0].row.conversations == 2 && all.damaged > 0)
    }

    @Test func `an ended conversation is recorded once, also over a restart, and the API reports it`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "Hello"))
        _ = await server.gateway.waitForMessages(count: 1, customer: customer.id)
        let path = "/v1/businesses/one/conversations?limit=1"
        #expect(
            try await eventually { try await server.api(path).json["conversations"]?[0]?["lines"]?.int == 2 })
        let now = Timestamp.now()
        for _ in 1...2 {
            // Each recorder is that of a new process.
            let recorder = recorder(server.configuration, server.running.store)
            recorder.recordEnded(at: now)
            for _ in 1...2 { recorder.recordEnded(at: now.advanced(by: .seconds(25 * 3600))) }
        }
        let rows = try await server.api("/v1/businesses/one/report?by=queue").json["rows"]
        #expect(rows?[0]?["conversations"]?.int == 1 && rows?[0]?["byBot"]?.int == 1)
        let csv = try await server.api("/v1/businesses/one/report.csv")
        #expect(csv.header("Content-Type") == "text/csv")
        #expect(String(decoding: csv.body, as: UTF8.self).contains("\"\",1,1,0,"))
    }

    @Test func `each conversation is recorded once, also when its customer has written again`() async throws {
        let server = try await ServerUnderTest.withAPI { $0.businesses[0].silence = .seconds(2 * 3600) }
        let customer = server.customer()
        let store = server.running.store
        // No handler answers, whose lines would be of today.
        _ = try await store.assign(.claim(Self.ana), customer.business, customer.id)
        let now = Timestamp.now()
        for hours in [12, 6, 1] {
            let message = ReceivedMessage(
                business: customer.business, customer: customer.id, id: .random(),
                message: customer.message(.text, text: "Hello"),
                receivedAt: now.advanced(by: .seconds(-3600 * hours)))
            _ = await withCheckedContinuation { continuation in
                store.append(message) { continuation.resume(returning: $0) }
            }
        }
        let path = "/v1/businesses/one/conversations?limit=1"
        #expect(
            try await eventually { try await server.api(path).json["conversations"]?[0]?["lines"]?.int == 3 })
        for (minutes, count) in [(0, 2), (60, 2), (90, 3)] {
            // Each recorder is that of a new process.
            let recorder = recorder(server.configuration, store)
            for _ in 1...2 { recorder.recordEnded(at: now.advanced(by: .seconds(minutes * 60))) }
            let rows = try await server.api("/v1/businesses/one/report").json["rows"]
            #expect(rows?[0]?["conversations"]?.int == count, "\(minutes)")
        }
    }

    private static let ana = Person(id: "ana") ?? { fatalError("an invalid identifier in a test") }()

    private func recorder(_ configuration: ServerConfiguration, _ store: Store) -> FiguresRecorder {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let current = CurrentConfiguration(configuration)
        let presence = PeoplePresence(dataDirectory: configuration.dataDirectory, logger: logger)
        return FiguresRecorder(store, current, PeopleSettings(current, presence), logger: logger)
    }

    @Test func `a hand-off is counted once, also after more than are kept in memory`() {
        typealias State = FiguresRecorder.Progress.State
        var state = State()
        func isCounted(_ record: UInt64, isQueueChosen: Bool = true) -> Bool {
            let assignment = Assignment(state: .waiting, record: record)
            return state.handOff(record, in: assignment, isQueueChosen: isQueueChosen) != nil
        }
        #expect(isCounted(1) && !isCounted(2, isQueueChosen: false))
        let others = 3...UInt64(State.maximum + 3)
        #expect(others.allSatisfy { isCounted($0) })
        #expect(!isCounted(1) && !isCounted(others.upperBound))
        #expect(isCounted(2) && !isCounted(2))
    }

    @Test func `only the oldest hand-offs without a queue are forgotten`() {
        typealias State = FiguresRecorder.Progress.State
        var state = State()
        let last = UInt64(State.maximum + 2)
        for record in 1...last {
            let waiting = Assignment(state: .waiting, record: record)
            _ = state.handOff(record, in: waiting, isQueueChosen: false)
        }
        // A person takes the last one before its queue is chosen.
        let taken = Assignment(state: .person, record: last + 1)
        #expect(state.handOff(last - 2, in: taken, isQueueChosen: false) != nil)
        #expect(state.handOff(last - 2, in: taken, isQueueChosen: false) == nil)
    }

    /// Customers who wait, whom a person takes before the rules have chosen a queue, and to whom a person writes unasked.
    @Test func `each hand-off has one figure, also over a restart`() async throws {
        let directory = TemporaryDirectory()
        var people = PeopleConfiguration(text: "Soon.")
        people.queues = [QueueConfiguration(id: "general"), QueueConfiguration(id: "returns")]
        let business = ServerUnderTest.business
        let (waits, taken, unasked) = (CustomerID("waits"), CustomerID("taken"), CustomerID("unasked"))
        let test = try await PipelineUnderTest(RecordingHandler(), in: directory, people: people)
        for customer in [waits, taken, unasked] { await test.append("Hello", from: customer.rawValue) }
        for customer in [waits, taken] {
            _ = try await test.store.assign(
                .handOff(reason: HandOffs.askedFor, Placement(queue: "returns")), business, customer)
        }
        for customer in [taken, unasked] {
            _ = try await test.store.assign(.claim(Self.ana), business, customer)
            // A transfer is no hand-off of the bot.
            _ = try await test.store.assign(.releaseToWaiting(), business, customer)
        }
        func handOffs() throws -> Int {
            try report(directory, data: "data", days: 0...100_000).rows[0].row.askedFor
        }
        #expect(try await eventually { try handOffs() == 1 }, "the one that was taken")
        for _ in 1...2 { await test.watch.look(at: .now()) }
        #expect(try await eventually { try handOffs() == 2 })
        await test.stop(test.run())
        let restarted = try await PipelineUnderTest(RecordingHandler(), in: directory, people: people)
        await restarted.watch.look(at: .now())
        // The same customer is handed off again.
        for change in [.claim(Self.ana), .releaseToHandler(), .handOff(reason: HandOffs.askedFor)]
            as [AssignmentChange]
        {
            _ = try await restarted.store.assign(change, business, waits)
        }
        await restarted.watch.look(at: .now())
        #expect(try await eventually { try handOffs() == 3 })
        await restarted.stop(restarted.run())
        let all = try report(directory, data: "data", by: .queue, days: 0...100_000)
        #expect(all.rows.map(\.name) == ["", "general", "returns"])
        #expect(all.rows.map(\.row.askedFor) == [3, 1, 2] && all.rows[0].row.handedOff == 0)
    }
}
