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

/// The conformance kit: samples pass it, and every fault is named with what its author must mend.
struct HandlerCheckTests {
    private func findings(_ command: [String]) async throws -> (
        isSound: Bool, failures: [String: String], passed: [String], log: [String]
    ) {
        let directory = TemporaryDirectory()
        let customer = SimulatedCustomer(
            id: CustomerID("urn:mbid:c"), business: BusinessID("b"), server: "", mspID: "",
            secret: .random(byteCount: 32), gateway: nil, transport: try CurlTransport())
        let samples = try Kind.allCases.map { kind in
            InboundEvent.decode(
                message: try JSONDocument(customer.message(kind)),
                attributes: MessageAttributes(capabilities: [.quickReply, .listPicker, .timePicker, .form]))
        }
        var check = HandlerCheck(
            SpawnedProcess.Program(
                command, environment: ExecBinder.environment(for: "check"), directory: directory.path),
            configuration: nil, samples: samples, logger: LogCollector().logger)
        // On a busy machine a program that does what it must is still in time.
        check.timings.handshake = .seconds(60)
        check.timings.signOfLife = .seconds(60)
        check.timings.grace = command.last == "stubborn" ? .milliseconds(300) : .seconds(60)
        // Only those that never answer, and are waited for to the end, have little time.
        switch command.last {
        case "silent", "unflushed": check.timings.handshake = .milliseconds(500)
        case "late", "long", "deaf": check.deadline = .milliseconds(800)
        // It answers, but not what it was asked: that must be seen before the time is over.
        case "wrongID": check.deadline = .seconds(5)
        // Half of it and no more is what it takes for one event.
        case "halfDeadline": check.deadline = .seconds(6)
        default: check.deadline = .seconds(60)
        }
        let found = Mutex<[HandlerCheck.Finding]>([])
        let isSound = await check.run { finding in found.withLock { $0.append(finding) } }
        var failures: [String: String] = [:]
        var passed: [String] = []
        for finding in found.withLock({ $0 }) {
            switch finding.verdict {
            case .failed(let what, let mend): failures[finding.name] = what + " / " + mend
            case .passed: passed.append(finding.name)
            }
        }
        return (isSound, failures, passed, found.withLock { $0.flatMap(\.log) })
    }

    @Test(arguments: ["shop.py", "shop.mjs", "shop.sh", "swift"])
    func `the samples are sound`(_ name: String) async throws {
        let program = name == "swift" ? buildDirectory + "/ShopExample" : Fixture.sampleHandlers + "/" + name
        let found = try await findings([program])
        #expect(found.failures == [:])
        #expect(found.isSound)
        let looked = [
            "handshake", "event form", "an event of over 1 MiB, in a file", "an event in pieces", "slow",
            "cancel",
            "noise", "shutdown", "after a kill",
        ]
        #expect(Set(looked).isSubset(of: found.passed))
    }

    private static let faults: [(fault: String, name: String, words: String)] = [
        ("silent", "handshake", "flush standard output"), ("unflushed", "handshake", "flush standard output"),
        ("wrongVersion", "handshake", "protocol version"),
        ("garbage", "handshake", "no message: starting up, step 0"),
        ("noise", "noise", "no message: Loading the catalogue ... / write one line of JSON"),
        ("malformed", "event text", "\"outcome\""),
        ("late", "event text", "no answer within 800 ms"), ("exit", "event text", "catch the error"),
        ("long", "event text", "no answer"), ("deaf", "event text", "no answer"),
        ("stubborn", "shutdown", "when standard input ends"), ("refusedReply", "event text", "replies[0]"),
        ("crash", "event text", "the process ended with status 5"), ("wrongID", "event text", "its own id"),
        ("stillborn", "handshake", "the process ended with status 7"),
        ("pieces", "an event in pieces", "until the line ends"), ("halfDeadline", "slow", "raise"),
        ("small", "an event of over 1 MiB, in a file", "the process ended"),
    ]

    @Test(arguments: faults)
    func `a fault is named with what its author must mend`(_ fault: String, _ name: String, _ words: String)
        async throws
    {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", fault])
        #expect(!found.isSound)
        #expect(found.failures[name]?.contains(words) ?? false, "\(found.failures)")
    }

    @Test func `a program that wants to know what failed is given a failure`() async throws {
        let found = try await findings([Fixture.directory + "/handlers/faulty.py", "failures"])
        #expect(found.failures == [:])
        #expect(found.passed.contains("event replyFailed"))
    }

    @Test func `a program that is not there is a finding`() async throws {
        let found = try await findings(["./missing"])
        #expect(found.failures["handshake"]?.contains("check its path") ?? false)
    }

    /// What a beginner's file can be, and what is said of it.
    private static let files: [(text: String, words: String)] = [
        ("print('hello')\n", "begin it with a line"),
        ("#!/no/such/python\n", "its first line names a program"),
        ("#!/usr/bin/env sh\r\necho\r\n", "look also for carriage returns"),
        ("#!/usr/bin/env sh\necho oh no >&2\nexit 3\n", "the process ended with status 3"),
        ("#!/usr/bin/env sh\necho hello; read line\n", "no message: hello"),
    ]

    @Test(arguments: files)
    func `a file that is no handler yet is told what it lacks`(_ text: String, _ words: String) async throws {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array(text.utf8), to: directory.file("bot"))
        #expect(
            try await findings([directory.file("bot")]).failures["handshake"]?.contains("chmod +x") ?? false)
        try Directory.makeExecutable(directory.file("bot"))
        let found = try await findings([directory.file("bot")])
        #expect(found.failures["handshake"]?.contains(words) ?? false, "\(found.failures)")
    }

    @Test func `what a program logs comes with what was found`() async throws {
        let found = try await findings(["sh", "-c", "echo oh no >&2; exit 3"])
        #expect(found.log == ["oh no"])
    }
}
