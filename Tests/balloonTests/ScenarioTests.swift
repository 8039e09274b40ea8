import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import balloon

@Suite struct ScenarioTests {
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("^You chose", "You chose: Track", 0), ("^chose", "You chose: Track", 1), ("(a+)+$", "", 1),
            (String(repeating: "[", count: 5000), "a", 1), (#"(a)\\1"#, "aa", 1),
        ])
    func `an expected expression that is hostile or undecided is a difference, in time`(
        expression: String, text: String, differences: Int
    ) throws {
        let text = text.isEmpty ? String(repeating: "a", count: 5000) + "!" : text
        let pattern = try JSONDocument(Array(#"{"$match":"\#(expression)"}"#.utf8)).root
        let value = try JSONDocument(Array(#""\#(text)""#.utf8)).root
        if RegularExpression(expression) == nil {
            #expect(throws: Scenario.Mistake.self) { try ScenarioPattern.check(pattern) }
        }
        var comparison = ScenarioPattern()
        let found = comparison.differences(pattern, value)
        #expect(found.count == differences)
        #expect(found.allSatisfy { $0.utf8.count < 2000 })
    }

    private static func write(_ text: String, to name: String, in directory: TemporaryDirectory) throws {
        try AtomicFile.write(Array(text.utf8), to: directory.file(name))
    }

    @Test func `a scenario passes against the demo, and a wrong expectation fails it with the difference`()
        async throws
    {
        let directory = TemporaryDirectory()
        let good = """
            {"format": 1, "customer": {"device": "mac"}, "steps": [{"send": "hello"},
             {"expect": [{"type": "text"}, {"type": "interactive", "sourceId": {"$any": true}}], "withinSeconds": 20},
             {"answer": {"choice": {"items": ["2"]}}},
             {"expect": [{"type": "text", "body": {"$match": "^You chose: Track"}}], "withinSeconds": 20}, {"none": 0.1}]}
            """
        try Self.write(good, to: "good.json", in: directory)
        try Self.write(
            good.replacing("^You chose: Track", with: "^<Pizza>"), to: "bad.json", in: directory)
        let shell = Shell(directory: directory.path)
        let passed = try await shell.run("balloon scenario run good.json --junit out.xml")
        #expect(passed.status == 0, "\(passed.output)\(passed.errors)")
        let failed = try await shell.run("balloon scenario run good.json bad.json --junit out.xml")
        #expect(failed.status == 1)
        #expect(failed.output.contains("FAILED   bad.json: 4 expect"))
        let xml = String(
            decoding: try File(directory.file("out.xml"), for: .reading).readAll(), as: UTF8.self)
        #expect(xml.contains("classname=\"bad.json\" name=\"4 expect\""))
        #expect(xml.contains("message 1 /body: expected a text like ^&lt;Pizza&gt;"))
        #expect(xml.contains("<skipped/>"))
    }

    @Test func `a scenario plays against a business of a configuration`() async throws {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("etc/businesses"))
        let files = [
            (
                "etc/server.json",
                #"{"mspID":"msp","secret":{"file":"/nowhere/msp"},"dataDirectory":"/nowhere/data"}"#
            ),
            ("etc/businesses/tea.json", #"{"businessID":"b-tea","name":"Tea","handler":{"builtin":"demo"}}"#),
            (
                "etc/businesses/cake.json",
                #"{"businessID":"b-cake","name":"Cake","handler":{"builtin":"none"}}"#
            ),
            (
                "hi.json",
                #"{"format":1,"steps":[{"send":"hello"},{"expect":[{"type":"text"}],"withinSeconds":20}]}"#
            ),
        ]
        for (name, text) in files { try Self.write(text, to: name, in: directory) }
        let shell = Shell(directory: directory.path)
        let run = "balloon scenario run hi.json --config etc/server.json"
        let unnamed = try await shell.run(run)
        #expect(unnamed.status == 64 && unnamed.errors.contains("cake, tea"), "\(unnamed.errors)")
        let unknown = try await shell.run("\(run) --business fish")
        #expect(unknown.status == 64 && unknown.errors.contains("cake, tea"), "\(unknown.errors)")
        let named = try await shell.run("\(run) --business tea")
        #expect(named.status == 0, "\(named.output)\(named.errors)")
        try Directory.remove(directory.file("etc/businesses/cake.json"))
        let only = try await shell.run(run)
        #expect(only.status == 0, "\(only.output)\(only.errors)")
    }

    @Test func `an invalid scenario exits with 65, and a handler that does not start with 69`() async throws {
        let directory = TemporaryDirectory()
        try Self.write(#"{"format": 1, "steps": [{"sing": "hello"}]}"#, to: "bad.json", in: directory)
        try Self.write(#"{"format": 1, "steps": [{"send": "hello"}]}"#, to: "good.json", in: directory)
        let shell = Shell(directory: directory.path)
        let invalid = try await shell.run("balloon scenario run bad.json")
        #expect(invalid.status == 65)
        #expect(invalid.errors.contains("bad.json:1:34: \"sing\" is not a member here"))
        let absent = try await shell.run("balloon scenario run good.json --handler ./nothing.py")
        #expect(absent.status == 69)
        let ending = try await shell.run("balloon scenario run good.json --handler /bin/false")
        #expect(ending.status == 69)
    }

    @Test(arguments: [
        (#"{"format":1,"customr":{},"steps":[{"send":"a"}]}"#, "1:23", "customr"),
        (#"{"format":1,"customer":{"devise":"mac"},"steps":[{"send":"a"}]}"#, "1:34", "devise"),
        (#"{"format":1,"steps":[{"send":"a","nam":"b"}]}"#, "1:40", "nam"),
        (#"{"format":1,"steps":[{"expct":[{}]}]}"#, "1:31", "expct"),
        (#"{"format":1,"steps":[{"txet":"hello"}]}"#, "1:30", "txet"),
        (#"{"format":1,"steps":[{"sedn":{"txet":"a"}}]}"#, "1:30", "sedn"),
        (#"{"format":1,"steps":[{"send":{"txet":"a"}}]}"#, "1:38", "txet"),
        (#"{"format":1,"steps":[{"name":"a"}]}"#, "1:22", "one of send, answer, expect and none"),
        (#"{"format":1,"steps":[{"send":"a","none":1}]}"#, "1:22", "one of send, answer, expect and none"),
        (#"{"format":1,"steps":[{"expect":[{}],"withinSecond":1}]}"#, "1:52", "withinSecond"),
        (#"{"format":1,"steps":[{"none":1,"withinSeconds":1}]}"#, "1:48", "withinSeconds"),
        (#"{"format":1,"steps":[{"expect":[{"body":{"$mach":"a"}}]}]}"#, "1:50", "$mach"),
        (#"{"format":1,"steps":[{"expect":[{"body":{"$match":"("}}]}]}"#, "1:51", "regular expression"),
        (#"{"format":1,"steps":[{"expect":["a"]}]}"#, "1:33", "an object"),
        (#"{"format":1,"steps":[{"send":{"text":"a","kind":"text"}}]}"#, "1:30", "send is a text"),
        (#"{"format":1,"steps":[{"send":{"txt":"a"}}]}"#, "1:37", "txt"),
        (#"{"format":1,"steps":[{"send":{}}]}"#, "1:30", "send is a text"),
        (#"{"format":1,"steps":[{"send":{"text":1}}]}"#, "1:30", "the name of a kind"),
        (#"{"format":1,"steps":[{"send":{"kind":"txt"}}]}"#, "1:38", "the kinds are text, "),
        (#"{"format":1,"customer":{"device":"old"},"steps":[{"send":"a"}]}"#, "1:34", "mac, old-iphone"),
        (#"{"format":1,"steps":[{"answer":{"choise":{}}}]}"#, "1:42", "choise"),
        (#"{"format":1,"steps":[{"answer":{"choice":{"item":["a"]}}}]}"#, "1:50", "item"),
        (#"{"format":1,"steps":[{"answer":{"choice":{"items":[{}]}}}]}"#, "1:52", "a text or a number"),
        (#"{"format":1,"steps":[{"answer":{"choice":{"fills":[{"page":"a"}]}}}]}"#, "1:52", "page and value"),
        (
            #"{"format":1,"steps":[{"answer":{"choice":{"outcome":"paid"}}}]}"#, "1:53",
            "success, failure or cancel"
        ),
        (#"{"format":1,"customer":{"locale":1},"steps":[{"send":"a"}]}"#, "1:34", "is not a text"),
        (#"{"format":1,"steps":[{"send":"a"},"b"]}"#, "1:35", "one of send"),
    ])
    func `a mistake in a scenario is refused with its line and column`(
        text: String, place: String, words: String
    ) throws {
        let directory = TemporaryDirectory()
        try Self.write(text, to: "one.json", in: directory)
        do {
            _ = try Scenario(file: directory.file("one.json"))
            Issue.record("the scenario was accepted")
        } catch {
            let report = try #require(FailureReport(error)).text
            #expect(report.contains("one.json:\(place): ") && report.contains(words), "\(report)")
        }
    }

    /// A recording of the demo by the page: the thread has placeholders for the parts that the server adds.
    private static let recorded = """
        {"format": 1, "customer": {"device": "iphone"}, "steps": [{"send": "sign in"},
         {"expect": [{"type": "interactive", "interactiveData": {"data": {"version": "2.0", "authenticate": {"oauth2": {
          "responseType": "code", "scope": ["[added when sent]"], "state": "[added when sent]", "redirectURI": "[added when sent]"}}}}}],
          "withinSeconds": 20},
         {"answer": {"choice": {"outcome": "success", "user": "ana"}}},
         {"expect": [{"type": "text", "body": "You are signed in as user-ana."}], "withinSeconds": 20},
         {"send": "sign in"}, {"expect": [{"type": "interactive"}], "withinSeconds": 20},
         {"answer": {"choice": {"items": ["2"]}}},
         {"expect": [{"type": "text", "body": "The sign-in ended: declined."}], "withinSeconds": 20},
         {"send": "pay"},
         {"expect": [{"type": "interactive", "interactiveData": {"data": {"payment": {"endpoints": "[added when sent]",
          "merchantSession": "[added when sent]"}}}}], "withinSeconds": 20},
         {"answer": {"choice": {"outcome": "success", "shippingMethod": "express"}}},
         {"expect": [{"type": "text", "body": "The payment of 64.00 EUR ended: paid."}], "withinSeconds": 20},
         {"send": "pay"}, {"expect": [{"type": "interactive"}], "withinSeconds": 20},
         {"answer": {"choice": {"outcome": "failure"}}},
         {"expect": [{"type": "text", "body": {"$match": "ended: (unpaid|declined)"}}], "withinSeconds": 20}]}
        """

    @Test func `a recorded conversation with sign-ins and payments plays without a browser and on the phone`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Self.write(Self.recorded, to: "recorded.json", in: directory)
        let played = try await Shell(directory: directory.path).run("balloon scenario run recorded.json")
        #expect(played.status == 0, "\(played.output)\(played.errors)")
        let inspector = try await InspectorClient("--scenarios .", in: directory)
        let answer = try await inspector.json("POST", "/dev/v1/scenarios/recorded/play", "{}")
        #expect(answer["passed"]?.bool == true, "\(String(decoding: answer.text, as: UTF8.self))")
        await inspector.server.stop()
    }

    @Test func `a recorded answer is sent with the identifiers of the question of this play`() async throws {
        let directory = TemporaryDirectory()
        let text = """
            {"format": 1, "customer": {"device": "iphone"}, "steps": [{"send": "hello"},
             {"expect": [{"type": "text"}, {"interactiveData": {"data": {"requestIdentifier": {"$as": "request"}}}}], "withinSeconds": 20},
             {"send": {"message": {"type": "interactive", "interactiveData": {
              "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
              "data": {"version": "1.0", "requestIdentifier": "11111111-0000-4000-8000-000000000000", "quick-reply": {
               "selectedIdentifier": "order", "selectedIndex": 1, "items": [{"identifier": "hours", "title": "Opening hours"},
               {"identifier": "order", "title": "Track my order"}]}}}}}},
             {"expect": [{"type": "text", "body": "You chose: Track my order"}], "withinSeconds": 20}]}
            """
        try Self.write(text, to: "one.json", in: directory)
        let played = try await Shell(directory: directory.path).run("balloon scenario run one.json")
        #expect(played.status == 0, "\(played.output)\(played.errors)")
    }

    @Test(arguments: ["mac", "old-iphone", "older"])
    func `the demo answers each device in words that can be written`(device: String) async throws {
        let directory = TemporaryDirectory()
        let second =
            device == "mac"
            ? #"{"type": "interactive"}"# : #"{"type": "text", "body": {"$match": "hours, order, person"}}"#
        try Self.write(
            """
            {"format": 1, "customer": {"device": "\(device)"}, "steps": [{"send": "hi"},
             {"expect": [{"type": "text", "body": "What can we do for you?"}, \(second)], "withinSeconds": 20},
             {"send": "Order"}, {"expect": [{"type": "text", "body": "You chose: Track my order"}], "withinSeconds": 20}]}
            """, to: "one.json", in: directory)
        let played = try await Shell(directory: directory.path).run("balloon scenario run one.json")
        #expect(played.status == 0, "\(played.output)\(played.errors)")
    }
}
