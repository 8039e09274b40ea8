import BalloonJSON
import BalloonPOSIX
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
            let line = JSONWriter.object { writer in
                writer.fields([
                    "seq": 1, "at": Self.now.rfc3339, "direction": "inbound", "id": "m", "kind": "text",
                    "customer": "c", "record": 1,
                ])
                writer.object("message") { $0.fields(["type": "text", "body": body]) }
            }
            let facts = RoutingFacts([try #require(ConversationLine(line))], wish: nil)
            return Self.people.route(facts, at: Self.now).queue
        }
        #expect(try placed("My credit card, please") == "vip")
        #expect(try placed("Loved “Do you have a credit card?”") == "general")
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
