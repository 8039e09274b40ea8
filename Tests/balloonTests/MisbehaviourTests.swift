import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

/// Tests that the server survives the faults that `balloon dev --misbehave` and `balloon simulate` cause.
@Suite struct MisbehaviourTests {
    @Test
    func `no message is lost when the gateway fails and messages are duplicated, reordered and have files`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(
            "--misbehave message=503,times=2 --misbehave blob=drop,times=1", in: directory)
        try AtomicFile.write(Array("a list".utf8), to: directory.file("list.txt"))
        let sent = try await shell.run(
            "balloon simulate text --attach list.txt --repeat 3 --shuffle --customer bob")
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(sent.output.split(separator: "\n").count == 3)
        #expect(try await shell.run("balloon simulate quickReply --wait --customer bob").status == 0)
        let repeated = try await shell.run("balloon simulate text --wait --repeat 2 --customer dora")
        #expect(repeated.status == 0, "\(repeated.errors)")
        let missing = try await shell.run("balloon simulate text --attach /nope")
        #expect(missing.errors.contains("/nope"), "\(missing.errors)")
        for command in ["simulate text", "send --to bob --text a"] {
            let folder = try await shell.run("balloon \(command) --attach /tmp")
            #expect(folder.status == 69)
            #expect(folder.errors.contains("/tmp: open: Is a directory"), "\(folder.errors)")
        }
        // Three copies count as one message; each of the two messages was answered.
        let shown = try await shell.run("balloon conversations show bob") { $0.lineCount >= 5 }
        #expect(shown.lineCount == 5, "\(shown.output)")
        let list = try await shell.run("balloon attachments list --json")
        let hash = try #require(try JSONDocument(Array(list.output.utf8)).root["sha256"]?.string)
        #expect(try await shell.run("balloon attachments get \(hash)").output == "a list")
        await server.stop()
        for wrong in ["message", "message=nonsense", "other=503"] {
            #expect(try await shell.run("balloon dev --misbehave \(wrong)").status == 64)
        }
    }
}
