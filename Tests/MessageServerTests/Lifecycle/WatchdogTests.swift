import Dispatch
import Logging
import ServerTestSupport
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct WatchdogTests {
    /// A part whose answers the test gives.
    private final class Part: Sendable {
        private let questions = Mutex<[@Sendable () -> Void]>([])
        var count: Int { questions.withLock { $0.count } }

        func check(_ name: String) -> Watchdog.Check {
            Watchdog.Check(name: name) { answer in self.questions.withLock { $0.append(answer) } }
        }

        func answer() {
            for answer in questions.withLock({ questions in
                defer { questions = [] }
                return questions
            }) {
                answer()
            }
        }
    }

    private let log = LogCollector()

    @Test func `the manager is told once every part has answered, and not while one hangs`() {
        let (shard, journal) = (Part(), Part())
        let reports = Counts()
        let watchdog = Watchdog(
            [shard.check("public shard 0"), journal.check("journal")], interval: .seconds(120),
            logger: log.logger
        ) { reports.add() }
        watchdog.ask()
        #expect((shard.count, journal.count) == (1, 1))
        shard.answer()
        #expect(reports.count == 0)
        // The journal hangs for two rounds; the shard is not asked again.
        watchdog.ask()
        watchdog.ask()
        #expect((shard.count, journal.count) == (0, 1))
        #expect(reports.count == 0)
        let lines = log.lines.filter { $0.contains("server makes no progress") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("parts=journal") == true)
        journal.answer()
        #expect(reports.count == 1)
        watchdog.ask()
        shard.answer()
        journal.answer()
        #expect(reports.count == 2)
    }

    @Test func `every shard and the journal of a running server answer, also when it has stopped`()
        async throws
    {
        let server = try await ServerUnderTest { $0.limits.shards = 3 }
        let checks = server.progressChecks
        #expect(
            checks.map(\.name) == ["public shard 0", "public shard 1", "public shard 2", "journal"])
        for check in checks { await withCheckedContinuation { answered in check.ask { answered.resume() } } }
        await server.stop()
        for check in checks { await withCheckedContinuation { answered in check.ask { answered.resume() } } }
    }

    @Test func `the timer asks until the watchdog ends`() async {
        let (reports, report) = AsyncStream.makeStream(of: Void.self)
        let watchdog = Watchdog(
            [Watchdog.Check(name: "part") { $0() }], interval: .milliseconds(2), logger: log.logger
        ) { report.yield() }
        watchdog.begin()
        var count = 0
        for await _ in reports {
            count += 1
            if count == 3 { break }
        }
        watchdog.end()
    }

    @Test func `a start asks for more time at its first advance, and then at most every five seconds`() {
        let reports = Counts()
        let start = StartExtension { time in
            #expect(time == .seconds(90))
            reports.add()
        }
        let began = ContinuousClock.now
        for seconds in [0, 1, 4, 5, 6, 9, 11] { start.advance(at: began + .seconds(seconds)) }
        // At 0, 5 and 11 seconds.
        #expect(reports.count == 3)
    }
}

/// A number that closures increase.
private final class Counts: Sendable {
    private let number = Mutex(0)
    var count: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
}
