import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// The rules of the queues, and the order in which waiting conversations are answered.
@Suite struct RoutingTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let people = {
        var people = PeopleConfiguration(text: "Soon.")
        people.queues = ["general", "returns", "french", "vip"].map { QueueConfiguration(id: $0) }
        people.queues[1].persons = ["ana"]
        people.queues[2].languages = ["fr"]
        people.queues[3].priority = 9
        people.rules = [
            QueueRule(queue: "returns", intent: "returns", locale: "en"),
            QueueRule(queue: "french", group: "shop"),
            QueueRule(queue: "vip", words: ["credit card", "VIP"]),
            QueueRule(queue: "returns", lastPersonDays: 14),
        ]
        return people
    }()

    private static func filler(_ bytes: Int) -> String { String(repeating: "x", count: bytes) }

    struct Row: CustomTestStringConvertible {
        var intent: String?
        var group: String?
        var locale: String?
        var texts: [String] = []
        var last: (String, days: Int)?
        var wish: Placement?
        let expected: String
        var testDescription: String { expected }
    }

    @Test(arguments: [
        Row(expected: "general, default"),
        Row(intent: "other", locale: "en_US", expected: "general, default"),
        Row(intent: "returns", locale: "en-GB", expected: "returns, 1: intent returns, locale en"),
        Row(intent: "returns", locale: "english", expected: "general, default"),
        Row(intent: "returns", expected: "general, default"),
        // A queue for French gets no customer in another language.
        Row(group: "shop", locale: "de_DE", expected: "general, default"),
        Row(group: "shop", locale: "fr_CA", expected: "french, 2: group shop"),
        Row(group: "shop", expected: "french, 2: group shop"),
        Row(texts: ["hi", "My Credit-card!"], expected: "vip, 3: word credit card"),
        Row(texts: ["vips", "credit cards"], expected: "general, default"),
        Row(texts: [filler(3996) + " VIP"], expected: "vip, 3: word VIP"),
        Row(texts: [filler(3997) + " VIP"], expected: "general, default"),
        Row(last: ("ana", 14), expected: "returns, 4: last person ana"),
        Row(last: ("ana", 15), expected: "general, default"),
        Row(last: ("ben", 1), expected: "general, default"),
        Row(wish: Placement(queue: "vip"), expected: "vip, the handler"),
        Row(wish: Placement(queue: "none"), expected: "general, default"),
        Row(locale: "de", wish: Placement(queue: "french"), expected: "general, default"),
        Row(texts: ["vip"], wish: Placement(queue: "returns"), expected: "vip, 3: word VIP"),
    ])
    func `the first rule that matches decides, then the handler, then the first queue`(row: Row) {
        var facts = RoutingFacts()
        (facts.intent, facts.group, facts.locale, facts.texts) = (
            row.intent, row.group, row.locale, row.texts
        )
        facts.lastPerson = row.last.map { ($0.0, Self.now.advanced(by: .seconds(-86_400 * $0.days))) }
        facts.wish = row.wish
        let placement = Self.people.route(facts, at: Self.now)
        #expect("\(placement.queue ?? ""), \(placement.rule ?? "")" == row.expected)
    }

    @Test func `rules search the customer's words, and no tapback, which quotes the business`() throws {
        func placed(_ body: String) throws -> String? {
            let line = try Self.line("inbound text", 0, ["type": "text", "body": body])
            return Self.people.route(Self.facts([line]), at: Self.now).queue
        }
        #expect(try placed("My credit card, please") == "vip")
        #expect(try placed("Loved “Do you have a credit card?”") == "general")
    }

    private static func line(_ words: String, _ hours: Int, _ message: JSONObject) throws -> ConversationLine
    {
        let words = words.split(separator: " ").map { String($0) }
        return try #require(
            ConversationLine(
                JSONWriter.object([
                    "seq": 1, "at": now.advanced(by: .seconds(3600 * hours)).rfc3339, "direction": words[0],
                    "id": "m", "kind": words[1], "customer": "c", "record": 1,
                    "outcome": words[0] == "outbound" ? "accepted" : nil, "message": message,
                ])))
    }

    private static func facts(_ lines: [ConversationLine]) -> RoutingFacts {
        RoutingFacts(lines, of: BusinessID("b"), silence: .seconds(24 * 3600), wish: nil)
    }

    /// The lines after the first message, with their hours after it.
    @Test(
        arguments: [
            ([], true), ([("outbound text", 23), ("inbound text", 46)], true),
            ([("inbound text", 25)], false),
            ([("inbound close", 1), ("inbound text", 1)], false), ([("inbound close", 1)], true),
            ([("internal closed", 1), ("inbound text", 1)], false),
            ([("internal person", 1), ("inbound text", 1)], true), ([("internal closed", 1)], true),
        ] as [([(String, Int)], Bool)])
    func `only the words, the intent and the group of the conversation that began last decide`(
        _ later: [(String, Int)], _ counts: Bool
    ) throws {
        let first: JSONObject = ["body": "my parcel", "intent": "i", "group": "g", "locale": "fr"]
        let lines =
            try [Self.line("inbound text", 0, first)]
            + later.map { words, hours in
                let state = words.split(separator: " ").last.map { String($0) }
                return try words.hasPrefix("internal")
                    ? Self.line("internal assignment", hours, ["type": "assignment", "state": state])
                    : Self.line(words, hours, ["body": "hello"])
            }
        let facts = Self.facts(lines)
        #expect(facts.texts.contains("my parcel") == counts)
        #expect(facts.intent == (counts ? "i" : nil) && facts.group == (counts ? "g" : nil))
        #expect(facts.locale == "fr", "the customer's language does not change")
    }

    @Test func `a rule for the handler's word has the place that the file gives it`() {
        var people = Self.people
        people.rules.insert(QueueRule(), at: 0)
        var facts = RoutingFacts()
        (facts.texts, facts.wish) = (["vip"], Placement(queue: "returns", priority: 3))
        let placement = people.route(facts, at: Self.now)
        #expect(placement == Placement(queue: "returns", priority: 3, rule: "1: the handler"))
    }

    @Test(arguments: [
        (#"[{"id":"a"},{"id":"a"}]"#, "[]", "/people/queues/1: has the id of another queue"),
        (#"[{"name":"A"}]"#, "[]", #"/people/queues/0: has no "id""#),
        (#"[{"id":"A b"}]"#, "[]", "/people/queues/0/id: is not a name"),
        (#"[{"id":"a","priority":10}]"#, "[]", "/people/queues/0/priority: is not a whole number"),
        (
            #"[{"id":"a","overflow":{"to":"a","minutes":1}}]"#, "[]",
            "/people/queues/0/overflow/to: is the queue itself"
        ),
        (
            #"[{"id":"a","overflow":{"to":"b","minutes":1}}]"#, "[]",
            "/people/queues/0/overflow/to: is not the id"
        ),
        (#"[{"id":"a","languages":["fr"]}]"#, "[]", #"/people: has a first queue with "languages""#),
        (#"[{"id":"a"}]"#, #"[{"queue":"b"}]"#, "/people/rules/0/queue: is not the id of a queue"),
        (#"[{"id":"a"}]"#, #"[{"intent":"x"}]"#, #"/people/rules/0: needs either "queue" or "handler""#),
        (#"[{"id":"a"}]"#, #"[{"queue":"a","when":"x"}]"#, "/people/rules/0/when: is not a known key"),
    ])
    func `a queue or a rule that cannot be meant is a problem`(queues: String, rules: String, problem: String)
        throws
    {
        let problems = try ConfigurationFiles(
            businesses: [
                "b": #"{"businessID":"b","name":"B","handler":{"builtin":"none"},"people":{"text":"a","#
                    + #""queues":\#(queues),"rules":\#(rules)}}"#
            ]
        ).problems()
        #expect(problems.count == 1 && problems[0].contains(problem), "\(problems)")
    }
}
