import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

@Suite struct LogLevelCommandTests {
    @Test(arguments: [("30s", 30), ("10m", 600), ("2h", 7200), ("24h", 86_400)])
    func `a time has a number and a unit`(text: String, seconds: Int) throws {
        #expect(try LogLevelCommand.seconds(text) == seconds)
    }

    @Test(arguments: ["", "10", "m", "0s", "-1m", "25h", "1d", "99999999999999999999s"])
    func `another text is no time`(text: String) {
        #expect(throws: (any Error).self) { try LogLevelCommand.seconds(text) }
    }

    @Test func `the answer is one line`() throws {
        func text(_ json: String) throws -> String {
            LogLevelCommand.text(try JSONDocument(Array(json.utf8)).root)
        }
        #expect(try text(#"{"level":"info"}"#) == "info\n")
        #expect(
            try text(#"{"level":"info","change":{"level":"debug","business":"fish","seconds":598}}"#)
                == "debug for fish for 9 min 58 s, then info\n")
    }

    @Test func `balloon log-level changes the running server's log`() async throws {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev("--log-level notice", in: directory)
        let changed = try await server.shell.run("balloon log-level debug --for 1h")
        #expect(changed.status == 0, "\(changed.errors)")
        #expect(changed.output.hasPrefix("debug for "))
        #expect(try await server.shell.run("balloon log-level").output.hasSuffix(", then notice\n"))
        let unknown = try await server.shell.run("balloon log-level debug --business nobody")
        #expect(unknown.status == 64)
        #expect(try await server.shell.run("balloon log-level reset").output == "notice\n")
        #expect(try await server.shell.run("balloon log-level loud").status == 64)
        await server.stop()
    }
}
