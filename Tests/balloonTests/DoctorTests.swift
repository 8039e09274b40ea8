import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Simulator
import TestSupport
import Testing

@testable import MessageServer
@testable import balloon

@Suite struct DoctorTests {
    /// Facts without a problem, with some of them changed.
    private static func facts(_ change: (inout DoctorFacts) -> Void = { _ in }) -> DoctorFacts {
        var facts = DoctorFacts(
            gatewayURL: "https://gateway.example/v1", dataDirectoryPath: "data", maximumOpenFiles: 65_536,
            now: 1_000_000)
        facts.gateway = .answered(date: 1_000_000, at: 1_000_001, roundTripSeconds: 1)
        facts.dataDirectory = .present(owner: 7, mode: 0o700, strangers: [])
        facts.user = 7
        facts.freeBytes = 5 << 30
        facts.minimumFreeBytes = 64 << 20
        facts.sync = .median(microseconds: 1234)
        facts.certificates = [(path: "chain.pem", expiresAt: 1_000_000 + 15 * 86_400)]
        facts.server = ServerStatus(version: "1", uptimeSeconds: 1, checks: [ReadinessCheck("journal", .ok)])
        change(&facts)
        return facts
    }

    @Test func `a healthy machine has no finding that needs a remedy`() {
        let findings = Self.facts().findings
        #expect(findings.allSatisfy { $0.state == .ok && $0.remedy == nil })
        #expect(
            findings.map(\.check) == [
                "gateway", "clock", "data directory", "disk space", "disk sync", "descriptors",
                "configuration", "certificates", "handlers", "server",
            ])
        #expect(findings[4].text == "a sync takes 1.2 ms")
        #expect(findings[7].text == "chain.pem expires in 15 days")
    }

    /// Facts with one defect, the check and the severity of its finding, and words of its text and its remedy.
    private static let defects: [(DoctorFacts, String, DoctorFinding.State, String, String)] = [
        (
            facts { $0.gateway = .failed(.hostUnresolved) }, "gateway", .problem, "cannot be reached",
            "resolv.conf"
        ),
        (
            facts { $0.gateway = .failed(.certificateRefused) }, "gateway", .problem, "cannot be reached",
            "ca-certificates"
        ),
        (
            facts { $0.gateway = .answered(date: 1_000_000, at: 1_000_007, roundTripSeconds: 0) }, "clock",
            .warning, "7 s ahead of", "synchronize"
        ),
        (
            facts { $0.gateway = .answered(date: 1_000_100, at: 1_000_000, roundTripSeconds: 2) }, "clock",
            .problem, "100 s behind", "synchronize"
        ),
        (
            facts { $0.ledger = ("/mnt/ledger", "faccessat: Read-only file system") }, "erasure ledger",
            .problem, "no file can be written in /mnt/ledger", "ReadWritePaths=/mnt/ledger"
        ),
        (
            facts { $0.dataDirectory = .unreadable("open: Permission denied") }, "data directory", .problem,
            "Permission denied", "as root"
        ),
        (
            facts { $0.dataDirectory = .present(owner: 7, mode: 0o700, strangers: ["data/lock"]) },
            "data directory", .problem, "data/lock has another owner", "chown -R 7"
        ),
        (
            facts { $0.dataDirectory = .present(owner: 7, mode: 0o755, strangers: []) }, "data directory",
            .warning, "mode 755", "chmod 700"
        ),
        (facts { $0.user = 8 }, "data directory", .warning, "runs as 8", "as user 7"),
        (facts { $0.freeBytes = 1 << 20 }, "disk space", .problem, "64.0 MB are required", "free space"),
        (facts { $0.freeBytes = 500 << 20 }, "disk space", .warning, "500.0 MB are free", "free space"),
        (facts { $0.sync = .median(microseconds: 50_001) }, "disk sync", .warning, "50.0 ms", "SSD"),
        (facts { $0.sync = .failed("open: Read-only") }, "disk sync", .problem, "Read-only", "server's user"),
        (
            facts { $0.database = .failed("no answer") }, "database", .problem, "no answer",
            "store.postgres.url"
        ),
        (
            facts { $0.database = .answered(standbys: 0, isAwaited: true) }, "database", .problem,
            "none is connected", "start the standby"
        ),
        (facts { $0.maximumOpenFiles = 1023 }, "descriptors", .problem, "1023", "LimitNOFILE"),
        (facts { $0.maximumOpenFiles = 4096 }, "descriptors", .warning, "4096", "LimitNOFILE"),
        (
            facts {
                $0.warnings = [("secret: can be read", "run chmod o-rwx")]
            }, "configuration", .warning, "can be read", "chmod o-rwx"
        ),
        (
            facts { $0.certificates = [(path: "a.pem", expiresAt: 1_000_000)] },
            "certificates", .problem, "a.pem has expired", "SIGHUP"
        ),
        (
            facts { $0.certificates = [(path: "a.pem", expiresAt: 1_900_000)] },
            "certificates", .warning, "in 10 days", "SIGHUP"
        ),
        (
            facts { $0.certificates = [(path: "a.pem", expiresAt: nil)] },
            "certificates", .problem, "cannot be read", "check the path"
        ),
        (
            facts {
                $0.programs = [
                    ("./bot.py of fish cannot be started: access: Permission denied", "chmod +x ./bot.py")
                ]
            }, "handlers", .problem, "./bot.py of fish", "chmod +x"
        ),
        (
            facts { $0.server?.checks = [ReadinessCheck("outbox", .degraded(reason: "3 replies wait"))] },
            "server", .warning, "outbox: 3 replies wait", "Operations"
        ),
        (
            facts { $0.server?.checks = [ReadinessCheck("disk", .failing(reason: "full"))] }, "server",
            .problem, "disk: full", "Operations"
        ),
    ]

    @Test(arguments: defects.indices)
    func `each defect is one finding with its remedy`(index: Int) throws {
        let (facts, check, state, text, remedy) = Self.defects[index]
        let findings = facts.findings.filter { $0.state != .ok }
        #expect(findings.count == 1)
        let finding = try #require(findings.first)
        #expect(finding.check == check)
        #expect(finding.state == state)
        #expect(finding.text.contains(text), "\(finding.text)")
        #expect(finding.remedy?.contains(remedy) == true, "\(finding.remedy ?? "")")
    }

    @Test(arguments: [
        (0, false, "no standby is connected"), (1, false, "its standby gets it later"),
        (2, false, "its 2 standbys get it later"), (1, true, "a standby's before its 200"),
    ])
    func `a store in PostgreSQL says what a lost disk loses`(standbys: Int, isAwaited: Bool, words: String)
        throws
    {
        let facts = Self.facts { $0.database = .answered(standbys: standbys, isAwaited: isAwaited) }
        let finding = try #require(facts.findings.first { $0.check == "database" })
        #expect(finding.state == .ok)
        #expect(finding.text.contains(words), "\(finding.text)")
    }

    @Test func `facts that are unknown are no problem`() {
        let facts = Self.facts { facts in
            facts.gateway = .skipped
            facts.dataDirectory = .missing
            facts.freeBytes = nil
            facts.sync = .skipped
            facts.certificates = []
            facts.server = nil
        }
        #expect(facts.findings.allSatisfy { $0.state == .ok })
    }

    @Test func `a slow answer leaves the clock in doubt`() {
        let facts = Self.facts { $0.gateway = .answered(date: 1_000_000, at: 1_000_009, roundTripSeconds: 8) }
        #expect(facts.findings.allSatisfy { $0.state == .ok })
    }

    @Test func `balloon doctor examines a machine without a server, and exits with 1 for a missing program`()
        async throws
    {
        let directory = TemporaryDirectory()
        let gateway = FakeGateway(
            mspID: "m", secret: .random(byteCount: 32), logger: LogCollector().logger)
        let address = try await gateway.start()
        try Directory.make(directory.file("businesses"))
        let server =
            #"{"mspID":"m","secret":{"env":"SECRET"},"gateway":{"url":"http://\#(address)/v1"}}"#
        try AtomicFile.write(Array(server.utf8), to: directory.file("server.json"))
        let business = #"{"businessID":"b","name":"B","handler":{"exec":["./absent"]}}"#
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/fish.json"))
        let shell = Shell(directory: directory.path)
        let command = "SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ= balloon doctor --config server.json"
        let result = try await shell.run(command)
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.output.contains("ok      gateway: http://\(address)/v1 answers\n"), "\(result.output)")
        #expect(result.output.contains("ok      clock: the clock agrees with the gateway's\n"))
        #expect(result.output.contains("PROBLEM handlers: ./absent of fish cannot be started: "))
        #expect(result.output.contains("\n  hint: check its path"))
        let json = try await shell.run(command + " --json --offline")
        #expect(json.output.hasPrefix(#"{"check":"gateway","state":"ok","text":"not asked"}"# + "\n"))
        await gateway.stop()
    }

    @Test func `balloon doctor sees a running server`() async throws {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("businesses"))
        try AtomicFile.write(
            Array(#"{"mspID":"m","secret":{"env":"SECRET"},"adminListen":"off"}"#.utf8),
            to: directory.file("server.json"))
        try AtomicFile.write(
            Array(#"{"businessID":"b","name":"B","handler":{"builtin":"none"}}"#.utf8),
            to: directory.file("businesses/fish.json"))
        let secret = "export SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ=;"
        let server = try await ServingCommand(
            "serve --config server.json --listen 127.0.0.1:0", in: directory, setup: secret)
        let result = try await server.shell.run("\(secret) balloon doctor --config server.json --offline")
        #expect(result.output.contains("server: the running server is ready\n"), "\(result.output)")
        #expect(result.output.contains("disk sync: a sync takes "))
        #expect(try Directory.names(in: directory.file("data")).allSatisfy { !$0.hasSuffix(".tmp") })
        await server.stop()
    }
}
