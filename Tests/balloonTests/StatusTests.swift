import BalloonPOSIX
import TestSupport
import Testing

@testable import MessageServer
@testable import balloon

@Suite struct StatusTests {
    private static let plain = TerminalStyle(isTerminal: false, environment: [:])

    private static var status: ServerStatus {
        var status = ServerStatus(
            version: "0.9.0", uptimeSeconds: 86_461, checks: [ReadinessCheck("journal", .ok)])
        var fish = ServerStatus.Business(name: "fish", handler: "starting")
        fish.downSeconds = 40
        fish.restarts = 2
        fish.pending = 3
        fish.oldestSeconds = 125
        fish.outbox = 1
        fish.waiting = 2
        fish.person = 1
        status.businesses = [fish, ServerStatus.Business(name: "pet-shop", handler: "ready")]
        status.listeners = [
            ServerStatus.Listener(name: "public", connections: 12),
            ServerStatus.Listener(name: "control", connections: 1),
        ]
        status.journalBytes = 1 << 20
        status.freeBytes = 5 << 30
        status.minimumFreeBytes = 64 << 20
        return status
    }

    @Test func `a ready server's status is a title, a table and three lines`() {
        #expect(
            StatusRendering.text(Self.status, style: Self.plain) == """
                balloon 0.9.0, up 1 d 0 h, ready

                BUSINESS  HANDLER                    PENDING     OLDEST  DEAD  OUTBOX  WAITING  PERSON
                fish      down for 40 s, 2 restarts        3  2 min 5 s     0       1        2       1
                pet-shop  ready                            0          -     0       0        0       0

                connections: public 12, control 1
                journal: 1.0 MB
                disk: 5.0 GB free; the server needs 64.0 MB

                """)
    }

    @Test(arguments: [(59, false), (60, true), (400, true)])
    func `a business without a message for 60 days gets a warning`(_ days: Int, _ isWarned: Bool) {
        var status = Self.status
        status.businesses[1].idleDays = days
        let text = StatusRendering.text(status, style: Self.plain)
        #expect(text.contains("warning: pet-shop: no message for \(days) days") == isWarned)
    }

    @Test func `problems follow the title, and text from outside moves no cursor`() {
        var status = Self.status
        status.checks = [
            ReadinessCheck("outbox", .degraded(reason: "3 replies wait")),
            ReadinessCheck("disk", .failing(reason: "full\u{1b}[2J")),
        ]
        status.businesses = [ServerStatus.Business(name: "\u{202e}shop", handler: "removed")]
        status.waitingBytes = 1536
        status.freeBytes = nil
        status.minimumFreeBytes = 0
        let text = StatusRendering.text(status, style: Self.plain)
        #expect(
            text.hasPrefix(
                """
                balloon 0.9.0, up 1 d 0 h, not ready
                degraded: outbox: 3 replies wait
                failing: disk: full\\u{1b}[2J

                """))
        #expect(text.contains("\n\\u{202e}shop  removed  "))
        #expect(text.hasSuffix("journal: 1.0 MB, 1.5 KB wait for the disk\ndisk: free space unknown\n"))
        status.checks.removeLast()
        #expect(
            StatusRendering.text(status, style: Self.plain).contains(", up 1 d 0 h, ready, degraded\n"))
    }

    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1 << 20, "1.0 MB"), ((1 << 20) - 1, "1023.9 KB"),
        (5 << 30, "5.0 GB"), (1 << 60, "1024.0 PB"), (Int.max, "8191.9 PB"),
    ])
    func `a number of bytes has one decimal place`(count: Int, text: String) {
        #expect(StatusRendering.bytes(count) == text)
    }

    @Test(arguments: [
        (-1, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (3600, "1 h 0 min"),
        (86_400, "1 d 0 h"), (1_000_000, "11 d 13 h"),
    ])
    func `a time has its two largest units`(seconds: Int, text: String) {
        #expect(StatusRendering.duration(seconds) == text)
    }

    @Test func `balloon status shows the running server, and exits with 69 without one`() async throws {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        let shown = try await server.shell.run("balloon status")
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(shown.output.hasPrefix("balloon 0."))
        #expect(shown.output.contains("\nBUSINESS  HANDLER  "))
        #expect(shown.output.contains("\nconnections: public "))
        let json = try await server.shell.run("balloon status --json")
        #expect(json.output.hasPrefix(#"{"version":""#))
        #expect(json.output.split(separator: "\n").count == 1)
        // The reader of the pipe ends the command.
        let watched = try await server.shell.run("balloon status --watch --json | head -2 | wc -l")
        #expect(watched.output.filter { $0 != " " } == "2\n", "\(watched.errors)")
        await server.stop()
        #expect(try await server.shell.run("balloon status").status == 69)
    }
}
