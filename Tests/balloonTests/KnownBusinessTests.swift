import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import balloon

/// Tests that all commands interpret `--business` and the data directory in the same way.
@Suite struct KnownBusinessTests {
    private static let known = [
        KnownBusiness(slug: "fish", id: BusinessID("3f0c-1")),
        KnownBusiness(slug: "fish-shop", id: BusinessID("3f0c-2")),
        KnownBusiness(slug: nil, id: BusinessID("77aa")),
    ]

    @Test(arguments: [
        ("fish", "3f0c-1"), ("fish-", "3f0c-2"), ("3f0c-2", "3f0c-2"), ("7", "77aa"), ("77aa", "77aa"),
    ])
    func `a slug, an identifier or a unique beginning names a business`(name: String, id: String) throws {
        #expect(try KnownBusiness.find(name, among: Self.known).id == BusinessID(id))
    }

    @Test(arguments: [
        ("cake", "matches no business"), ("3f0c", "matches 2 businesses"), ("", "matches 3 businesses"),
    ])
    func `a name that matches no business or several is refused`(name: String, reason: String) {
        #expect(
            throws: CommandFailure.unknownArgument(
                "--business \(name)", reason: reason, hint: "the businesses are fish, fish-shop, 77aa")
        ) { try KnownBusiness.find(name, among: Self.known) }
    }

    @Test func `lists accept a slug as --business, and refuse a business that does not exist`() async throws {
        let directory = TemporaryDirectory()
        let server = try await RecordingServer.start(in: directory)
        let shell = Shell(directory: directory.path)
        let sent = try await shell.run(
            "balloon simulate text --config server.json --to http://\(server.address) --wait --allow-unhandled"
        )
        #expect(sent.status == 0, "\(sent.errors)")
        for command in ["events list", "events tail", "conversations list", "conversations show"] {
            for name in ["silent --config server.json", "sil --config server.json", "b-1", "b"] {
                let found = try await shell.run("balloon \(command) --business \(name)")
                #expect(found.status == 0, "\(command) \(name): \(found.errors)")
                #expect(found.lineCount == 1)
            }
            let unknown = try await shell.run("balloon \(command) --business other")
            #expect(unknown.status == 64)
            #expect(unknown.errors.hasPrefix("error: --business other matches no business\n"))
        }
        let elsewhere = try await shell.run(
            "mkdir inner && cd inner && BALLOON_DATA_DIRECTORY=../data balloon events list")
        #expect(elsewhere.lineCount == 1)
        await server.stop()
    }

    @Test func `events tail follows new messages and changes of their status`() async throws {
        let directory = TemporaryDirectory()
        let server = try await RecordingServer.start(in: directory)
        let shell = Shell(directory: directory.path)
        let simulate = "balloon simulate text --config server.json --to http://\(server.address) --text"
        _ = try await shell.run("\(simulate) first --wait")
        let tail = try shell.start("exec balloon events tail -f")
        #expect(await tail.output(until: "text: first") != nil)
        _ = try await shell.run("\(simulate) second --customer carl")
        #expect(await tail.output(until: "unhandled  b-1  carl  text: second") != nil)
        tail.kill()
        #expect(await tail.wait() == 128 + 9)
        let one = try await shell.run("balloon events tail -n 1")
        #expect(one.lineCount == 1)
        #expect(one.output.contains("text: second"))
        await server.stop()
    }

    @Test func `a reader that closes its pipe ends a command quietly`() async throws {
        let directory = TemporaryDirectory()
        let server = try await RecordingServer.start(in: directory)
        let shell = Shell(directory: directory.path)
        _ = try await shell.run(
            "balloon simulate text --repeat 3 --config server.json --to http://\(server.address)")
        // The reader has closed the pipe. The shell ignores SIGPIPE, so each write fails instead of ending the command.
        let result = try await shell.run(
            "trap '' PIPE; mkfifo pipe; (: <pipe) & exec 3>pipe; wait; balloon events list >&3; echo $?")
        #expect(result.output == "0\n")
        #expect(result.errors == "")
        await server.stop()
    }
}
