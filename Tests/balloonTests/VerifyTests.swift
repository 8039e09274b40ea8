import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

@Suite struct VerifyTests {
    /// A data directory with one conversation of two messages; returns its file.
    @discardableResult
    private func fill(_ directory: TemporaryDirectory, _ ids: [String] = ["1", "2"]) async throws -> String {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .text) }
        for id in ids {
            let text = #"{"id":"\#(id)","v":1,"type":"text","body":"hello"}"#
            store.append(
                ReceivedMessage(
                    business: BusinessID("b-1"), customer: CustomerID("c"), id: MessageID(id),
                    message: Array(text.utf8))
            ) { #expect($0 == .stored) }
            let delivery = try #require(await store.nextDelivery(for: BusinessID("b-1")))
            try await store.finish(delivery, result: .handled)
        }
        await store.close()
        let hash = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"
        return directory.file("data/conversations/b-1/2e/\(hash).jsonl")
    }

    @Test func `verify reports problems, and rebuild repairs them, without a server`() async throws {
        let directory = TemporaryDirectory()
        let file = try await fill(directory)
        let shell = Shell(directory: directory.path)
        let sound = try await shell.run("balloon conversations verify")
        #expect(sound.status == 0)
        #expect(sound.output.isEmpty)
        #expect(sound.errors.hasSuffix("2 lines in 1 conversations, 2 of them compared: 0 problems\n"))

        let text = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        let lines = text.split(separator: "\n")
        try AtomicFile.write(Array("\(lines[0])\n".utf8), to: file)
        let missing = try await shell.run("balloon conversations verify")
        #expect(missing.status == 65)
        #expect(missing.output.contains("a line of the journal is missing (record "))
        let json = try await shell.run("balloon conversations verify --json")
        #expect(json.status == 65)
        #expect(json.output.hasPrefix(#"{"problem":"missing","file":"data/conversations/"#))
        #expect(json.output.contains(#""comparedLines":1,"problems":1}"#))
        let rebuilt = try await shell.run("balloon conversations rebuild")
        #expect(rebuilt.output == "1 lines restored, 0 conversations repaired, 0 lines lost\n")
        #expect(String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self) == text)
        #expect(try await shell.run("balloon conversations verify").status == 0)
    }

    @Test func `an irreparable problem is reported with a hint`() async throws {
        let directory = TemporaryDirectory()
        let file = try await fill(directory)
        let shell = Shell(directory: directory.path)
        let text = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        let strange = text.split(separator: "\n")[1].replacing("\"seq\":2", with: "\"seq\":3")
            .replacing("\"record\":", with: "\"record\":9")
        try AtomicFile.write(Array((text + strange + "\n").utf8), to: file)
        let rebuilt = try await shell.run("balloon conversations rebuild")
        #expect(rebuilt.status == 65)
        #expect(rebuilt.errors.contains("the line's record is not in the journal"))
        #expect(rebuilt.errors.contains("run balloon conversations rebuild to restore lines"))
        let journal = directory.file("data/journal")
        let name = try #require(try Directory.names(in: journal).first)
        var bytes = try File(journal + "/" + name, for: .reading).readAll()
        bytes[bytes.count / 3] ^= 1
        try AtomicFile.write(bytes, to: journal + "/" + name)
        let damaged = try await shell.run("balloon conversations verify")
        #expect(damaged.status == 65)
        #expect(damaged.errors.contains("hint: restore the journal's files from a backup"))
    }

    @Test func `a damaged journal is reported until it is repaired`() async throws {
        let directory = TemporaryDirectory()
        _ = try await fill(directory)
        let shell = Shell(directory: directory.path)
        let journal = directory.file("data/journal")
        let name = try #require(try Directory.names(in: journal).first)
        var bytes = try File(journal + "/" + name, for: .reading).readAll()
        bytes[bytes.count / 3] ^= 1
        try AtomicFile.write(bytes, to: journal + "/" + name)
        #expect(try await shell.run("balloon conversations rebuild").status == 65)
        for command in ["events list", "events list --json", "deadletters list", "deadletters drop --all"] {
            let result = try await shell.run("balloon \(command)")
            #expect(result.status == 65, "\(command)")
            #expect(result.errors.contains("data/journal/\(name) is damaged at line"), "\(command)")
        }
        let shown = try await shell.run("balloon journal repair")
        #expect(shown.output.hasPrefix("would remove the records 2 in \(name)"), "\(shown.errors)")
        #expect(try await shell.run("balloon events list").status == 65)
        let repaired = try await shell.run("balloon journal repair --yes")
        #expect(repaired.output.hasPrefix("removed the records 2;"), "\(repaired.errors)")
        #expect(try await shell.run("balloon journal repair").output == "the journal is intact\n")
        #expect(try await shell.run("balloon events list").status == 0)
        #expect(try Directory.names(in: directory.file("data/damaged/journal")).contains(name))
    }

    @Test func `a damaged journal is repaired through the server that runs`() async throws {
        let directory = TemporaryDirectory()
        _ = try await fill(directory)
        let journal = directory.file("data/journal")
        let name = try #require(try Directory.names(in: journal).first)
        var bytes = try File(journal + "/" + name, for: .reading).readAll()
        bytes[bytes.count / 3] ^= 1
        try AtomicFile.write(bytes, to: journal + "/" + name)
        let server = try await RecordingServer.start(in: directory)
        let shell = Shell(directory: directory.path)
        let shown = try await shell.run("balloon journal repair")
        #expect(shown.output.hasPrefix("would remove the records 2 in \(name)"), "\(shown.errors)")
        let repaired = try await shell.run("balloon journal repair --yes")
        #expect(repaired.output.hasPrefix("removed the records 2;"), "\(repaired.errors)")
        #expect(try await shell.run("balloon journal repair --yes").output == "the journal is intact\n")
        await server.stop()
    }

    @Test(arguments: [false, true])
    func `a repair names the journal file that is missing, and no other`(_ isServed: Bool) async throws {
        let directory = TemporaryDirectory()
        for ids in [["1", "2"], ["3", "4"], ["5", "6"]] { try await fill(directory, ids) }
        let journal = directory.file("data/journal")
        let names = try Directory.names(in: journal).sorted()
        #expect(names.count == 3)
        try Directory.remove(journal + "/" + names[1])
        try Directory.remove(directory.file("data/snapshot"))
        let server = isServed ? try await RecordingServer.start(in: directory) : nil
        let shell = Shell(directory: directory.path)
        let shown = try await shell.run("balloon journal repair")
        #expect(shown.output.contains("missing: \(names[1]); "), "\(shown.output) \(shown.errors)")
        #expect(!shown.output.contains(names[0]) && !shown.output.contains(names[2]))
        #expect(try await shell.run("balloon events list").errors.contains("\(names[1]) is damaged"))
        let repaired = try await shell.run("balloon journal repair --yes")
        #expect(repaired.output.hasSuffix("missing: \(names[1])\n"), "\(repaired.output) \(repaired.errors)")
        #expect(try await shell.run("balloon journal repair").output == "the journal is intact\n")
        #expect(try await shell.run("balloon events list").status == 0)
        await server?.stop()
        #expect(Directory.exists(directory.file("data/snapshot")))
    }

    @Test func `a rebuild without a server logs as a server does`() async throws {
        let directory = TemporaryDirectory()
        let file = try await fill(directory)
        let text = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        // The line is duplicated, which only the rebuild detects.
        try AtomicFile.write(Array((text + text.split(separator: "\n")[1] + "\n").utf8), to: file)
        let rebuilt = try await Shell(directory: directory.path).run("balloon conversations rebuild")
        #expect(rebuilt.status == 0, "\(rebuilt.errors)")
        let lines = rebuilt.errors.split(separator: "\n")
        #expect(lines.contains { $0.contains("conversation is damaged; rewriting it") }, "\(lines)")
        for line in lines { _ = try JSONDocument(Array(line.utf8)) }
    }

    @Test(arguments: [
        "conversations list", "conversations show", "conversations verify", "conversations rebuild",
        "events list", "events replay 2 --send", "deadletters list", "deadletters retry --all",
        "attachments list",
    ])
    func `a directory without VERSION is refused, not shown as empty`(command: String) async throws {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("data"))
        let result = try await Shell(directory: directory.path).run("balloon \(command)")
        #expect(result.status == 69, "\(result.errors)")
        #expect(result.errors.contains("data is not a data directory"))
        #expect(try Directory.names(in: directory.file("data")).isEmpty)
    }

    @Test(arguments: [
        "conversations list", "conversations show c", "conversations verify", "conversations rebuild",
        "events list", "events show 2", "events replay 2 --send", "deadletters list", "deadletters show 2",
        "deadletters retry 2", "deadletters drop 2", "attachments list", "attachments get 00 --output file",
        "send --to c --text hello --config server.json",
        "serve --config server.json --listen 127.0.0.1:0 --data data",
    ])
    func `a directory of an unknown version is refused and not changed`(command: String)
        async throws
    {
        let directory = TemporaryDirectory()
        _ = try await fill(directory)
        try RecordingServer.configure(directory)
        try AtomicFile.write(Array("4\n".utf8), to: directory.file("data/VERSION"))
        let journal = directory.file("data/journal")
        let name = try #require(try Directory.names(in: journal).first)
        let before = try File(journal + "/" + name, for: .reading).readAll()
        let result = try await Shell(directory: directory.path).run("balloon \(command)")
        #expect(result.status == 65, "\(result.errors)")
        #expect(result.errors.contains(#"has version "4", which this program does not know"#))
        #expect(try Directory.names(in: journal) == [name])
        #expect(try File(journal + "/" + name, for: .reading).readAll() == before)
    }

    @Test func `a running server rebuilds a damaged conversation on request`() async throws {
        let directory = TemporaryDirectory()
        let file = try await fill(directory)
        try AtomicFile.write(
            Array("broken\n".utf8) + File(file, for: .reading).readAll(), to: file)
        let shell = Shell(directory: directory.path)
        let server = try await RecordingServer.start(in: directory)
        #expect(try await shell.run("balloon conversations show c").status == 65)
        let json = try await shell.run("balloon conversations rebuild --json")
        #expect(json.status == 0, "\(json.errors)")
        // The server detects the damage while it replays the journal.
        #expect(json.output == #"{"restoredLines":0,"repairedConversations":1,"lostLines":1}"# + "\n")
        #expect(try await shell.run("balloon conversations verify").status == 0)
        #expect(try await shell.run("balloon conversations list").status == 0)
        await server.stop()
    }
}
