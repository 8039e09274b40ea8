import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

/// `balloon review` against a bot that is good in three languages, and with every fault that the bot can have.
@Suite(.serialized) struct ReviewTests {
    private static let program = Fixture.directory + "/handlers/reviewed.py"

    /// Files of a business with the bot, and its brief.
    private static func files(
        _ faults: [String], people: Bool = true, typing: Bool = false, night: String = ""
    ) throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("businesses"))
        let persons = """
            , "people": { "text": "A colleague answers in a few minutes.",\(night) "phrases": ["help", "agent"], "words": {"de": ["hilfe"], "fr": ["aide"]} },
            "texts": { "wait": { "de": "Eine Kollegin antwortet in wenigen Minuten.", "fr": "Une collègue répond dans quelques minutes." } },
            "fallback": { "text": "An agent will reply soon." }
            """
        let business = """
            {"businessID": "b-shop", "name": "Sam's Bread", "handler": {"exec": ["\(program)"], "environment": {"FAULTS": "\(faults.joined(separator: " "))"}}\(people ? persons : "")\(typing ? #", "replies": {"typing": {}}"# : "")}
            """
        let brief = """
            {"format": 1, "useCases": [{"name": "Order bread", "words": "Hi", "path": ["Order bread", "Rye"], "expect": ["quickReply", "listPicker", "richLink"]}],
             "languages": [{"locale": "en_US", "hello": "Hi", "help": "help", "expect": "help you"},
              {"locale": "de_DE", "hello": "Hallo", "help": "Hilfe", "expect": "helfen"},
              {"locale": "fr_FR", "hello": "Bonjour", "help": "aide", "expect": "pour vous"}],
             "hours": "9 to 17", "closedText": "Closed: open again tomorrow, 9:00.", "brand": "Sam's Bread", "notices": [],
             "agents": [{"name": "Ana", "says": ["Hello, this is Ana.", "Thank you, goodbye."]}, {"name": "Ben", "says": ["Hello, Ben here."]}],
             "declarations": {"noExcludedIndustry": true, "oneCommercialAccount": true, "testAccounts": true, "agentsTrained": true, "testCredentials": true}}
            """
        let server = #"{"mspID": "msp", "secret": {"env": "BALLOON_SECRET"}}"#
        for (name, text) in [
            ("server.json", server), ("businesses/shop.json", business), ("brief.json", brief),
        ] {
            try AtomicFile.write(Array(text.utf8), to: directory.file(name))
        }
        return directory
    }

    private static func review(
        _ directory: TemporaryDirectory, only checks: String? = nil
    ) async throws -> (Shell.Result, JSONValue) {
        let only = checks.map { " --only \($0)" } ?? ""
        let result = try await Shell(directory: directory.path).run(
            "balloon review --config server.json --brief brief.json --json --junit out.xml --html out.html --log-level error\(only)"
        )
        return (result, try JSONDocument(Array(result.output.utf8)).root)
    }

    private static func objections(_ report: JSONValue) -> [String: [String]] {
        let checks = report["checks"]?.elements.filter { $0["verdict"]?.string == "objection" } ?? []
        let pairs = checks.map { check in
            (
                check["id"]?.string ?? "",
                check["findings"]?.elements.filter { $0["verdict"]?.string == "objection" }.compactMap {
                    $0["words"]?.string
                } ?? []
            )
        }
        return Dictionary(pairs) { $0 + $1 }
    }

    @Test(.timeLimit(.minutes(5))) func `a good bot in three languages has no objection, within two minutes`()
        async throws
    {
        let directory = try Self.files([])
        let began = ContinuousClock.now
        let (result, report) = try await Self.review(directory)
        #expect(Self.objections(report) == [:])
        #expect(result.status == 0, "\(result.errors)")
        #expect(ContinuousClock.now - began < .seconds(120))
        let failed = report["scenes"]?.elements.compactMap { $0["failure"]?.string } ?? []
        #expect(failed == [])
        #expect(!result.output.contains("will pass"))
        let html = String(
            decoding: try File(directory.file("out.html"), for: .reading).readAll(), as: UTF8.self)
        #expect(html.contains("Guten Tag, ich bin ein automatischer Assistent."))
        let xml = String(
            decoding: try File(directory.file("out.xml"), for: .reading).readAll(), as: UTF8.self)
        #expect(xml.contains("name=\"C3 "))
    }

    @Test(.timeLimit(.minutes(5))) func `a bot with many faults has an objection of each check`() async throws
    {
        let faults = [
            "label", "link", "loop", "files", "tapback", "english", "dead", "ends", "devices",
            "consent", "again",
        ]
        let directory = try Self.files(faults, people: false)
        let (result, report) = try await Self.review(directory)
        #expect(result.status == 1)
        let objections = Self.objections(report)
        let wanted = [1, 4, 7, 8, 9, 10, 12, 19, 22, 23, 24, 25, 27, 34].map { "C\($0)" }
        #expect(wanted.filter { objections[$0] == nil } == [], "\(objections)")
    }

    @Test(.timeLimit(.minutes(5))) func `a bot that answers after more than five seconds has an objection`()
        async throws
    {
        let (result, report) = try await Self.review(try Self.files(["slow"]), only: "C3")
        #expect(result.status == 1)
        #expect(Self.objections(report)["C3"]?.first?.contains("Apple allows 5 s") == true)
        #expect(report["checks"]?.count == 1)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func `the typing indicators that the server shows count as the bot's`(isShown: Bool) async throws {
        let (_, report) = try await Self.review(try Self.files([], typing: isShown), only: "C6")
        #expect(report["checks"]?[0]?["verdict"]?.string == (isShown ? "ok" : "advice"), "\(report)")
    }

    private static let hours = #"{"zone": "UTC", "week": {"mon-sun": ["00:00-24:00"]}}"#

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            (#""hours": \#(hours), "closedText": "We are closed. A colleague answers {opensAt}.","#, "ok"),
            (#""hours": \#(hours), "closedText": "We are closed.","#, "objection"),
        ])
    func `the night of a business with hours has the text of its file`(_ night: String, _ verdict: String)
        async throws
    {
        let (_, report) = try await Self.review(try Self.files([], night: night), only: "C14")
        #expect(report["checks"]?[0]?["verdict"]?.string == verdict, "\(report)")
    }

    @Test(.timeLimit(.minutes(5)))
    func `the shooting script has each button, the night and the returning customer`()
        async throws
    {
        let directory = try Self.files([])
        let result = try await Shell(directory: directory.path).run(
            "balloon review --config server.json --brief brief.json --script --log-level error")
        for words in [
            "the button \"Order bread\"", "use case: Order bread", "tap   Rye",
            "do    balloon people close shop",
            "see   text: Closed: open again tomorrow, 9:00.", "the customer returns\n", "Welcome back",
        ] {
            #expect(result.output.contains(words), "\(words) is missing in:\n\(result.output)")
        }
    }

    @Test(.timeLimit(.minutes(5))) func `the features of an MSP are shown`() async throws {
        let directory = try Self.files([])
        let result = try await Shell(directory: directory.path).run(
            "balloon review --config server.json --brief brief.json --msp --log-level error")
        let missing = result.output.split(separator: "\n").filter {
            $0.first == "M" && $0.contains("agent: not shown")
        }
        // The bot's business has no queues.
        #expect(result.status == 0 && missing.map { $0.prefix(3) } == ["M15"], "\(result.output)")
        #expect(result.output.contains("M16  channel and landing page  bot: shown in \"the landing page\""))
    }

    @Test func `an HTTP service of a configuration is reviewed only with a confirmation`() async throws {
        let directory = try Self.files([])
        let business = """
            {"businessID": "b-shop", "name": "Shop", "handler": {"http": {"url": "http://127.0.0.1:9", "secret": {"env": "HANDLER_SECRET"}}}}
            """
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/shop.json"))
        let result = try await Shell(directory: directory.path).run("balloon review --config server.json")
        #expect(result.status == 64)
        #expect(result.errors.contains("--yes"), "\(result.errors)")
    }

    @Test(arguments: [
        ("--brief bad.json --config server.json", 65, "bad.json:1:23: \"hour\" is not a member here"),
        ("--only C40", 64, "--only takes numbers of checks"), ("--conversations", 64, "needs --config"),
        ("--script --msp", 64, "exclude each other"),
    ])
    func `a wrong argument is refused before the server starts`(
        arguments: String, status: Int32, words: String
    ) async throws {
        let directory = try Self.files([])
        try AtomicFile.write(Array(#"{"format": 1, "hour": ""}"#.utf8), to: directory.file("bad.json"))
        let result = try await Shell(directory: directory.path).run("balloon review \(arguments)")
        #expect(result.status == status)
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test func `a written brief names the business and is read back`() async throws {
        let directory = try Self.files([])
        let shell = Shell(directory: directory.path)
        let written = try await shell.run(
            "balloon review --config server.json --write-brief >written.json && cat written.json")
        #expect(
            written.status == 0 && written.output.contains("\"brand\": \"Sam's Bread\""), "\(written.errors)")
        #expect(written.output.contains("\"locale\": \"de\""))
        let read = try await shell.run(
            "balloon review --config server.json --brief written.json --only C1 --log-level error")
        #expect(read.status == 0, "\(read.output)\(read.errors)")
        #expect(read.output.contains("the brief has no \"hours\""))
    }
}
