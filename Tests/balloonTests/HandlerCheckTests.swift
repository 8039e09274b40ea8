import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerBridges
import HandlerKit
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import balloon

/// Tests `balloon handlers check`: the sample handlers pass, and every fault is reported with its correction.
struct HandlerCheckTests {
    private func findings(_ command: [String], events: String? = nil) async throws -> (
        isSound: Bool, failures: [String: String], warnings: [String: String], passed: [String], log: [String]
    ) {
        let directory = TemporaryDirectory()
        let customer = SimulatedCustomer(
            id: CustomerID("urn:mbid:c"), business: BusinessID("b"), server: "", mspID: "",
            secret: .random(byteCount: 32), gateway: nil, transport: try CurlTransport())
        let samples = try Kind.allCases.map { kind in
            HandlerCheck.Sample(try JSONDocument(customer.message(kind)))
        }
        let own = try events.map(HandlerCheck.Sample.all) ?? []
        var check = HandlerCheck(
            program: SpawnedProcess.Program(
                command, environment: ExecBinder.environment(for: "check"), directory: directory.path),
            configuration: nil, samples: samples + own, logger: LogCollector().logger)
        // The limits are so long that a correct program is in time even on a busy machine.
        check.timings.handshake = .seconds(60)
        check.timings.signOfLife = .seconds(60)
        check.timings.grace = command.last == "stubborn" ? .milliseconds(300) : .seconds(60)
        // A program that never answers lasts until the limit, so only such a program gets a short limit.
        switch command.last {
        case "silent", "unflushed": check.timings.handshake = .milliseconds(500)
        case "late", "long", "deaf", "splitting": check.deadline = .milliseconds(800)
        // This program answers with a wrong id, which the check must detect before the limit.
        case "wrongID": check.deadline = .seconds(5)
        // This program uses just over half of the time limit for one event.
        case "halfDeadline": check.deadline = .seconds(20)
        default: check.deadline = .seconds(60)
        }
        let found = Mutex<[HandlerCheck.Finding]>([])
        let isSound = await check.run { finding in found.withLock { $0.append(finding) } }
        var failures: [String: String] = [:]
        var warnings: [String: String] = [:]
        var passed: [String] = []
        for finding in found.withLock({ $0 }) {
            switch finding.verdict {
            case .failed(let what, let correction): failures[finding.name] = what + " / " + correction
            case .warned(let what, let correction): warnings[finding.name] = what + " / " + correction
            case .passed: passed.append(finding.name)
            }
        }
        return (isSound, failures, warnings, passed, found.withLock { $0.flatMap(\.log) })
    }

    @Test(arguments: ["python/shop.py", "node/shop.mjs", "shell/shop.sh", "swift"])
    func `the sample handlers pass every check`(_ name: String) async throws {
        let program = name == "swift" ? buildDirectory + "/ShopExample" : Fixture.sampleHandlers + "/" + name
        let found = try await findings([program])
        #expect(found.failures == [:])
        #expect(found.warnings == [:])
        #expect(found.isSound)
        let looked = [
            "mac", "old-iphone", "a device that shows only texts",
            "handshake", "event form", "an event of over 1 MiB, in a file", "an event in pieces", "slow",
            "a text with unusual characters", "cancel",
            "noise", "shutdown", "start after a kill",
        ]
        #expect(Set(looked).isSubset(of: found.passed))
    }

    private static let faults: [(fault: String, name: String, words: String)] = [
        ("silent", "handshake", "flush standard output"), ("unflushed", "handshake", "flush standard output"),
        ("wrongVersion", "handshake", "protocol version"),
        ("garbage", "handshake", "not a message: starting up, step 0"),
        ("noise", "noise", "not a message: Loading the catalogue ... / write one line of JSON"),
        ("malformed", "event text", "rule outcome at /outcome: found \"perhaps\", allowed handled retry"),
        ("badFile", "event text", "rule attachmentFile at /replies/0/attachments/0/path"),
        ("relativeFile", "event text", "allowed an absolute path"),
        ("late", "event text", "no answer within 800 ms"), ("exit", "event text", "catch the error"),
        ("long", "event text", "rule answerSize"), ("deaf", "event text", "no answer"),
        ("stubborn", "shutdown", "when standard input ends"), ("refusedReply", "event text", "at /replies/1"),
        ("crash", "event text", "the process ended with status 5"), ("wrongID", "event text", "its own id"),
        ("stillborn", "handshake", "the process ended with status 7"),
        ("pieces", "an event in pieces", "until the line feed"),
        ("splitting", "a text with unusual characters", "end lines at line feeds only"),
        ("halfDeadline", "slow", "raise"),
        ("small", "an event of over 1 MiB, in a file", "the process ended"),
    ]

    @Test(arguments: faults)
    func `a fault of a handler is reported with its correction`(
        _ fault: String, _ name: String, _ words: String
    )
        async throws
    {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", fault])
        #expect(!found.isSound)
        #expect(found.failures[name]?.contains(words) ?? false, "\(found.failures)")
    }

    @Test func `a question without a fallback is a failure for the devices that cannot show it`() async throws
    {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", "unshowable"])
        #expect(!found.isSound)
        let failure = found.failures["event text from old-iphone"]
        #expect(failure?.contains("no QUICK, and /replies/1 has no fallback") == true, "\(found.failures)")
        #expect(failure?.contains("\"fallback\"") == true)
        #expect(found.failures["event text from mac"] == nil)
        #expect(found.passed.contains("mac"))
        // A text precedes this question.
        #expect(found.warnings == [:])
    }

    @Test func `a device that gets nothing where an iPhone gets a reply is a failure`() async throws {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", "iPhoneOnly"])
        #expect(!found.isSound)
        #expect(
            found.failures["event text from old-iphone"]?.contains("an iPhone gets 1 reply") == true,
            "\(found.failures)")
    }

    @Test
    func `a quick reply without a text before it is a warning, and its fallback satisfies every device`()
        async throws
    {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", "fallback"])
        #expect(found.isSound, "\(found.failures)")
        #expect(found.warnings["event text"]?.contains("send the question as a text first") == true)
        #expect(found.warnings.count == 1)
    }

    @Test func `a builder's error fails the check, which does not say that events were not answered`()
        async throws
    {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", "builder"])
        #expect(!found.isSound)
        #expect(
            found.failures["event text"]?.contains(
                "the answer is refused / rule quickReplyCount at /replies/0: found 1 item") ?? false)
        let many = found.failures["4 events at once"]
        #expect(
            many?.contains("all were answered wrongly: the answer is refused") ?? false, "\(found.failures)")
        #expect(!found.failures.values.contains { $0.contains("not answered") })
    }

    @Test(arguments: [("failures", "event replyFailed"), ("consents", "event consent")])
    func `a program that subscribes to an event of the server is checked with it`(
        mode: String, event: String
    ) async throws {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", mode])
        #expect(found.failures == [:])
        #expect(found.passed.contains(event), "\(found.passed)")
    }

    @Test func `a missing program is reported as a finding`() async throws {
        let found = try await findings(["./missing"])
        #expect(found.failures["handshake"]?.contains("check its path") ?? false)
    }

    /// The content of files with typical mistakes of beginners, and the expected hints.
    private static let files: [(text: String, words: String)] = [
        ("print('hello')\n", "begin it with a line"),
        ("#!/no/such/python\n", "interpreter named in its first line"),
        ("#!/usr/bin/env sh\r\necho\r\n", "remove carriage returns"),
        ("#!/usr/bin/env sh\necho oh no >&2\nexit 3\n", "the process ended with status 3"),
        ("#!/usr/bin/env sh\necho hello; read line\n", "not a message: hello"),
    ]

    @Test(arguments: files)
    func `a file that is not a handler yet gets a hint`(_ text: String, _ words: String) async throws {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array(text.utf8), to: directory.file("bot"))
        #expect(
            try await findings([directory.file("bot")]).failures["handshake"]?.contains("chmod +x") ?? false)
        try Directory.makeExecutable(directory.file("bot"))
        let found = try await findings([directory.file("bot")])
        #expect(found.failures["handshake"]?.contains(words) ?? false, "\(found.failures)")
    }

    @Test func `an author's own events replace the canned events, and a failure at a canned event says so`()
        async throws
    {
        let events = TemporaryDirectory()
        #expect(throws: CommandFailure.self) { try HandlerCheck.Sample.all(in: events.path) }
        for (name, text) in [("first", "corrected"), ("second", "something else")] {
            let message = #"{"type": "text", "body": "\#(text)"}"#
            try AtomicFile.write(Array(message.utf8), to: events.file("\(name).json"))
        }
        let program = [Fixture.directory + "/handlers/faulty.py", "malformed"]
        let own = try await findings(program, events: events.path)
        #expect(own.passed.contains("event text of first.json"))
        #expect(own.failures["event text of second.json"]?.contains("canned") == false)
        let canned = try await findings(program)
        #expect(canned.failures["event text"]?.contains("this event was canned") == true)
    }

    @Test func `a finding includes the program's log lines`() async throws {
        let found = try await findings(["sh", "-c", "echo oh no >&2; exit 3"])
        #expect(found.log == ["oh no"])
    }
}
