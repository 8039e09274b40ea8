import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

/// `balloon erase`.
struct EraseTests {
    /// Stores a finished message of each of three customers.
    private func fill(_ directory: TemporaryDirectory) async throws {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .text) }
        for customer in ["tel:+49301234", "urn:mbid:second", "urn:mbid:kept"] {
            let text = #"{"id":"\#(customer)","v":1,"type":"text","body":"hello of \#(customer)"}"#
            store.append(
                ReceivedMessage(
                    business: BusinessID("b-1"), customer: CustomerID(customer), id: MessageID(customer),
                    message: Array(text.utf8))
            ) { #expect($0 == .stored) }
            let delivery = try #require(await store.nextDelivery(for: BusinessID("b-1")))
            try await store.finish(delivery, result: .handled)
        }
        await store.close()
    }

    private func customers(_ shell: Shell) async throws -> [String] {
        let list = try await shell.run("balloon conversations list --json")
        #expect(list.status == 0, "\(list.errors)")
        return try list.output.split(separator: "\n").compactMap {
            try JSONDocument(Array($0.utf8)).root["customer"]?.string
        }.sorted()
    }

    @Test(arguments: [false, true])
    func `a customer's conversation is exported with a transcript and files, and only once to a folder`(
        withServer: Bool
    ) async throws {
        let directory = TemporaryDirectory()
        try await fill(directory)
        let server = withServer ? try await RecordingServer.start(in: directory) : nil
        let shell = Shell(directory: directory.path)
        let done = try await shell.run("balloon export out --customer tel:+49301234")
        #expect(done.output == "exported 1 conversations, 1 lines and 0 files to out\n", "\(done.errors)")
        let names = try Directory.names(in: directory.file("out/conversation-1")).sorted()
        #expect(names == ["messages.ndjson", "transcript.txt"])
        let messages = try File(directory.file("out/conversation-1/messages.ndjson"), for: .reading).readAll()
        let line = try JSONDocument(messages).root
        #expect(line["message"]?["body"]?.string == "hello of tel:+49301234")
        let transcript = String(
            decoding: try File(directory.file("out/conversation-1/transcript.txt"), for: .reading).readAll(),
            as: UTF8.self)
        #expect(
            transcript.contains("customer  text: hello of tel:+49301234") && !transcript.contains("second"))
        let all = try await shell.run("balloon export all/ --business b-1 --json")
        #expect(
            all.output.contains(#""conversations":3,"lines":3,"files":0,"missingFiles":0"#), "\(all.errors)")
        #expect(Directory.isDirectory(directory.file("all/conversation-3")))
        for command in ["out --customer x", "new", "'' --customer x", "out2 --business unknown"] {
            #expect(try await shell.run("balloon export " + command).status != 0, "\(command)")
        }
        let none = try await shell.run("balloon export none --customer urn:mbid:nobody")
        #expect(
            none.errors.contains("no conversation to export") && !Directory.exists(directory.file("none")))
        await server?.stop()
    }

    @Test(arguments: [false, true])
    func `customers of the options and of standard input are erased, beside a server or without one`(
        withServer: Bool
    ) async throws {
        let directory = TemporaryDirectory()
        try await fill(directory)
        let server = withServer ? try await RecordingServer.start(in: directory) : nil
        let shell = Shell(directory: directory.path)
        let dry = try await shell.run("balloon erase --customer tel:+49301234 --json")
        #expect(dry.output == #"{"conversations":1,"records":1,"contents":0,"unreached":[]}"# + "\n")
        #expect(try await customers(shell).count == 3)
        let both = try await shell.run("balloon erase --customer tel:+49301234 --dry-run --yes")
        #expect(both.output.hasPrefix("would erase 1 conversation with 1 messages"), "\(both.errors)")
        #expect(try await customers(shell).count == 3)
        let done = try await shell.run(
            "printf 'urn:mbid:second\\n' | balloon erase --customer tel:+49301234 --customer - --yes")
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output == "erased 2 conversations, 2 lines of the journal and 0 files\n")
        #expect(!(done.output + done.errors).contains("49301234"))
        #expect(try await customers(shell) == ["urn:mbid:kept"])
        let again = try await shell.run("balloon erase --customer tel:+49301234 --yes")
        #expect(again.output == "no conversation of these customers\n")
        #expect(try await shell.run("balloon conversations verify").status == 0)
        await server?.stop()
    }

    @Test func `the ledger of the configuration is used, and quarantined segments end the command with 65`()
        async throws
    {
        let directory = TemporaryDirectory()
        try await fill(directory)
        try RecordingServer.configure(directory)
        let file = directory.file("server.json")
        let configuration = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        let store =
            #"{"store":{"erasureLedger":"\#(directory.file("ledger.jsonl"))","erasureLedgerDays":30},"#
        try AtomicFile.write(Array((store + configuration.dropFirst()).utf8), to: file)
        let quarantined = directory.file("data/journal/000000000900.jsonl.unreadable")
        try AtomicFile.write([1], to: quarantined)
        let shell = Shell(directory: directory.path)
        let done = try await shell.run(
            "balloon erase --customer urn:mbid:second --yes --config server.json --data data")
        #expect(done.status == 65, "\(done.errors)")
        #expect(done.errors.contains("000000000900.jsonl.unreadable"))
        #expect(done.output.hasPrefix("erased 1 conversation,"))
        let ledger = String(
            decoding: try File(directory.file("ledger.jsonl"), for: .reading).readAll(), as: UTF8.self)
        #expect(ledger.split(separator: "\n").count == 2)
        #expect(!ledger.contains("second"))
        #expect(!Directory.exists(directory.file("data/erasures.jsonl")))
    }

    @Test func `a command without a customer is wrong usage`() async throws {
        let directory = TemporaryDirectory()
        try await fill(directory)
        let shell = Shell(directory: directory.path)
        #expect(try await shell.run("balloon erase --yes").status == 64)
        #expect(try await shell.run("printf '' | balloon erase --customer - --yes").status == 64)
    }
}
