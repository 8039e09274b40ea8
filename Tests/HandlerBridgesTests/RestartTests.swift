import BalloonJSON
import BalloonPOSIX
import HandlerKit
import HandlerProtocol
import Synchronization
import TestSupport
import Testing

@testable import HandlerBridges

struct RestartTests {
    @Test func `restart pauses double up to their limit, and a long-running process resets them`() {
        var policy = RestartPolicy()
        policy.maximumEnds = 100
        var now = ContinuousClock.now
        var pauses: [RestartPolicy.Decision] = []
        for _ in 0..<8 {
            pauses.append(policy.decide(at: now, ran: .seconds(1), random: 0.5))
            now += .seconds(1)
        }
        let seconds = [0.5, 1, 2, 4, 8, 16, 30, 30]
        #expect(pauses == seconds.map { .restart(after: .seconds($0)) })
        #expect(policy.decide(at: now, ran: .seconds(60), random: 0.5) == .restart(after: .seconds(0.5)))
    }

    @Test(arguments: [(0.0, 0.4), (1.0, 0.6)])
    func `a restart pause deviates by at most a fifth`(_ random: Double, _ seconds: Double) {
        var policy = RestartPolicy()
        guard case .restart(let pause) = policy.decide(at: .now, ran: .zero, random: random) else {
            Issue.record("no restart")
            return
        }
        #expect(abs((pause - .seconds(seconds)).milliseconds) <= 1)
    }

    @Test func `the sixth exit within a minute suspends restarts`() {
        var policy = RestartPolicy()
        let start = ContinuousClock.now
        for index in 0..<5 {
            let decision = policy.decide(at: start + .seconds(index), ran: .zero, random: 0.5)
            guard case .restart = decision else {
                Issue.record("suspended after \(index + 1) exits")
                return
            }
        }
        #expect(policy.decide(at: start + .seconds(6), ran: .zero, random: 0.5) == .giveRest(.seconds(300)))
    }

    @Test func `exits more than a minute ago do not suspend restarts`() {
        var policy = RestartPolicy()
        var now = ContinuousClock.now
        for _ in 0..<20 {
            guard case .restart = policy.decide(at: now, ran: .seconds(1), random: 0.5) else {
                Issue.record("suspended")
                return
            }
            now += .seconds(13)
        }
    }

    /// A handler that runs `command`, a JSON list, and the host to pass to `provision`.
    private func child(
        _ command: String, _ timings: ChildTimings, _ directory: TemporaryDirectory, _ log: LogCollector
    ) throws -> (ChildHandler, HandlerHost) {
        let request = HandlerBindingRequest(
            binding: try JSONDocument(Array(#"{"exec": \#(command)}"#.utf8)).root,
            business: BusinessID("b"), slug: "b", directory: directory.path,
            scratchDirectory: directory.file("scratch"), deadline: .seconds(1), maximumInFlight: 1,
            logger: log.logger)
        let host = HandlerHost(business: BusinessID("b"), slug: "b", logger: log.logger) { _, _, _ in
            MessageID("")
        }
        return (try ExecBinder(timings: timings).child(request), host)
    }

    @Test func `lines that are no protocol messages are counted and logged at the end of the process`()
        async throws
    {
        let (log, directory) = (LogCollector(), TemporaryDirectory())
        let program = Fixture.directory + "/handlers/faulty.py"
        let (handler, host) = try child(#"["\#(program)", "noise"]"#, .quick, directory, log)
        await handler.provision(host)
        #expect(await handler.waitUntilReady())
        #expect(await handler.report.noiseLines == 1)
        await handler.shutdown()
        #expect(await handler.report.noiseLines == 1)
        #expect(log.lines.contains { $0.contains("handler process ended") && $0.contains("noise_lines=1") })
        withExtendedLifetime(directory) {}
    }

    @Test func `an operator's restart skips the pause`() async throws {
        let (log, directory) = (LogCollector(), TemporaryDirectory())
        var timings = ChildTimings.quick
        timings.restarts.backoff = Backoff([.seconds(300)])
        let program = Fixture.directory + "/handlers/faulty.py"
        let (handler, host) = try child(#"["\#(program)", "good"]"#, timings, directory, log)
        await handler.provision(host)
        #expect(await handler.waitUntilReady())
        let first = try #require(await handler.report.processID)
        await handler.restart()
        var second: Int32?
        _ = await eventually {
            second = await handler.report.processID
            return second != nil && second != first
        }
        #expect(second != nil)
        #expect(handler.restarts == 1)
        await handler.shutdown()
        withExtendedLifetime(directory) {}
    }

    @Test func `a missing program is logged with its name and the restart command`() async throws {
        let log = LogCollector()
        var timings = ChildTimings()
        timings.restarts.backoff = Backoff([.zero])
        let (handler, host) = try child(#"["./nowhere"]"#, timings, TemporaryDirectory(), log)
        await handler.provision(host)
        await log.first { $0.contains("ends too often") && $0.contains("balloon handlers restart b") }
        #expect(
            log.lines.contains { $0.contains("cannot be started") && $0.contains("program=./nowhere") })
        await handler.shutdown()
    }

    @Test(arguments: [
        ("./missing", false), ("./plain", false), ("./folder", false), ("./good", true), ("sh", true),
        ("no-such-program-anywhere", false), ("/bin/sh", true),
    ])
    func `a program that cannot be started is reported before the start`(_ name: String, _ mayStart: Bool)
        throws
    {
        let directory = TemporaryDirectory()
        for file in ["plain", "good"] {
            try AtomicFile.write(Array("#!/bin/sh\n".utf8), to: directory.file(file))
        }
        try Directory.makeExecutable(directory.file("good"))
        try Directory.make(directory.file("folder"))
        let binding = try JSONDocument(Array(#"{"exec": ["\#(name)"]}"#.utf8)).root
        let obstacle = ExecBinder.obstacle(of: binding, in: directory.path)
        #expect((obstacle == nil) == mayStart)
        #expect(mayStart || obstacle?.program == name)
    }

    @Test func `a thousand restarts leave no descriptor, no zombie and no grandchild behind`() async throws {
        var timings = ChildTimings()
        timings.restarts.backoff = Backoff([.zero])
        timings.restarts.maximumEnds = .max
        // Each process leaves a grandchild behind, which holds the pipes open.
        let binding = try JSONDocument(Array(#"{"exec": ["sh", "-c", "sleep 1000 & exit 0"]}"#.utf8)).root
        let directory = TemporaryDirectory()
        let log = LogCollector()
        let request = HandlerBindingRequest(
            binding: binding, business: BusinessID("b"), slug: "b", directory: directory.path,
            scratchDirectory: directory.file("scratch"), deadline: .seconds(1), maximumInFlight: 1,
            logger: log.logger)
        let handler = try ExecBinder(timings: timings).child(request)
        let before = try Directory.names(in: "/proc/self/fd").count
        await handler.provision(
            HandlerHost(business: BusinessID("b"), slug: "b", logger: log.logger) { _, _, _ in MessageID("") }
        )
        // Each wait has its own limit, because a busy machine takes minutes for all of them.
        for hundreds in 1...10 {
            await log.count(hundreds * 100) { $0.contains("handler process ended") }
        }
        await handler.shutdown()
        #expect(handler.health == .stopped)
        // Other tests run at the same time; a real leak would be a thousand or more.
        #expect(try Directory.names(in: "/proc/self/fd").count < before + 500)
        #expect(zombieCount() < 50)
        #expect(await endOfProcesses(in: directory.path))
    }
}
