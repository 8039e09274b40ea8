import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// Uses of `balloon conversations claim`, `release` and `close`, with a running `balloon dev` and without one.
@Suite struct AssignConversationsTests {
    private let directory = TemporaryDirectory()

    private func states(_ shell: Shell, _ state: String) async throws -> [String] {
        let list = try await shell.run("balloon conversations list --state \(state) --json")
        #expect(list.status == 0, "\(list.errors)")
        return try list.output.split(separator: "\n").map { line in
            let root = try JSONDocument(Array(line.utf8)).root
            let name = root["person"]?["name"] ?? root["person"]?["id"]
            return [root["customer"]?.string, root["state"]?.string, name?.string].compactMap(\.self)
                .joined(separator: " ")
        }
    }

    @Test func `a conversation is claimed, refused to others, taken over, released and closed`() async throws
    {
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(in: directory)
        #expect(try await shell.run("balloon send --to carol --text Hello").status == 0)
        #expect(try await shell.run("balloon send --to dora --text Hello").status == 0)
        #expect(try await states(shell, "handler") == ["carol handler", "dora handler"])
        #expect(try await states(shell, "person").isEmpty)

        let claimed = try await shell.run("balloon conversations claim carol --person ana --person-name Ana")
        #expect(claimed.status == 0, "\(claimed.errors)")
        #expect(claimed.output.contains("  carol  with Ana (ana) since "))
        #expect(try await states(shell, "person") == ["carol person Ana"])
        #expect(try await states(shell, "handler") == ["dora handler"])
        // The same claim again.
        #expect(try await shell.run("balloon conversations claim car --person ana").status == 0)

        let refused = try await shell.run("balloon conversations claim carol --person ben")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("Ana (ana) has the conversation"), "\(refused.errors)")
        let unsent = try await shell.run("balloon send --to carol --text Hi --person ben")
        #expect(unsent.status == 1)
        #expect(unsent.errors.contains("Ana (ana) has the conversation"), "\(unsent.errors)")
        #expect(unsent.errors.contains("--take takes it over"), "\(unsent.errors)")
        let automatic = try await shell.run("balloon send --to carol --text Hi --auto-reply")
        #expect(automatic.status == 1)
        #expect(automatic.errors.contains("no program may write"), "\(automatic.errors)")
        #expect(try await shell.run("balloon send --to carol --text Hi").status == 0)

        let taken = try await shell.run("balloon send --to carol --text Hi --person ben --take")
        #expect(taken.status == 0, "\(taken.errors)")
        #expect(try await states(shell, "person") == ["carol person ben"])
        let shown = try await shell.run("balloon conversations show carol --json")
        #expect(shown.output.contains(#""author":"person","person":{"id":"ben"}"#))

        let released = try await shell.run(
            "balloon conversations release carol --to waiting --note 'refund agreed'")
        #expect(released.status == 0, "\(released.errors)")
        #expect(try await states(shell, "waiting") == ["carol waiting"])
        #expect(
            try await shell.run("balloon conversations list").output.contains("  waiting since "))
        await server.stop()

        // Without a server the directory is changed directly.
        #expect(try await states(shell, "waiting") == ["carol waiting"])
        #expect(try await shell.run("balloon conversations release carol --to handler").status == 0)
        let again = try await shell.run("balloon conversations release carol --to handler")
        #expect(again.status == 1)
        #expect(again.errors.contains("the conversation is with its handler"), "\(again.errors)")
        #expect(try await shell.run("balloon conversations close dora").status == 0)
        #expect(try await states(shell, "closed") == ["dora closed"])
        #expect(try await shell.run("balloon conversations verify").status == 0)
    }

    @Test(arguments: [
        "conversations claim carol", "conversations claim --person ana", "conversations release carol",
        "conversations release carol --to nobody", "conversations claim carol --person ''",
        "send --to carol --text a --person ana --auto-reply", "send --to carol --text a --take",
        "send --to carol --text a --person-name Ana", "conversations list --state open",
    ])
    func `wrong usage ends with 64`(_ arguments: String) async throws {
        let shell = Shell(directory: directory.path)
        #expect(try await shell.run("balloon \(arguments)").status == 64)
    }
}
