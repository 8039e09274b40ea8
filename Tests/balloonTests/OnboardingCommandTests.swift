import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

/// `balloon onboarding …` beside a server without the landing page, whose data directory has claims.
@Suite struct OnboardingCommandTests {
    @Test func `claims are listed, shown, printed as a business's file and dropped`() async throws {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        let shell = Shell(directory: directory.path)
        let empty = try await shell.run("balloon onboarding list")
        #expect(empty.status == 0 && empty.output == "", "\(empty.errors)")
        let folder = directory.file("data/onboarding")
        try Directory.make(folder)
        let claim = "0123456789abcdef-1"
        let json =
            #"{"business":"b-7","name":"Sam's \u001b[2J \u202e\"Co\"","logo":"https://a.example/","#
            + #""contact":"ana@example.com","receivedAt":"\#(Timestamp.now().rfc3339)"}"#
        try AtomicFile.write(Array(json.utf8), to: folder + "/\(claim).json")
        let list = try await shell.run("balloon onboarding list")
        #expect(list.output.hasPrefix(claim + "  ") && list.output.contains("  b-7  "))
        #expect(!list.output.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
        let line = try await shell.run("balloon onboarding list --json")
        #expect(try JSONDocument(Array(line.output.utf8)).root["claim"]?.string == claim)
        let shown = try await shell.run("balloon onboarding show \(claim)")
        #expect(shown.output.contains("contact: ana@example.com\n"), "\(shown.errors)")

        let printed = try await shell.run("balloon onboarding print \(claim) --slug sam")
        #expect(printed.status == 0 && printed.errors == "", "\(printed.errors)")
        #expect(!printed.output.unicodeScalars.contains("\u{202E}"))
        try Directory.make(directory.file("businesses"))
        try AtomicFile.write(Array(printed.output.utf8), to: directory.file("businesses/sam.json"))
        try AtomicFile.write(
            Array(#"{"mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "landing": true}"#.utf8),
            to: directory.file("server.json"))
        let check = try await shell.run(
            "BALLOON_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ= balloon config check --config server.json")
        #expect(check.status == 0, "\(check.errors)")
        #expect(try await shell.run("balloon onboarding print \(claim) --slug Sam").status == 64)

        let dropped = try await shell.run("balloon onboarding drop \(claim)")
        #expect(dropped.output == "\(claim) is dropped\n")
        for command in ["show \(claim)", "drop \(claim)", "print \(claim) --slug sam", "drop ../dev"] {
            let missing = try await shell.run("balloon onboarding \(command)")
            #expect(missing.status == 64 && missing.errors.contains("is not a claim"), "\(missing.errors)")
        }
        await server.stop()
    }
}
