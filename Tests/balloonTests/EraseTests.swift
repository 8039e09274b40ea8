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

    /// Links and pipes in place of files of the data directory; each is made by a shell command.
    @Test(arguments: [
        "ln -sf ../../../secret", "mkfifo",
    ])
    func `an export and a file of a customer follow no link and wait for no pipe`(command: String)
        async throws
    {
        let directory = TemporaryDirectory()
        try await fill(directory)
        try AtomicFile.write(Array("root's secret".utf8), to: directory.file("secret"))
        let shell = Shell(directory: directory.path)
        let hash = String(repeating: "ab", count: 32)
        let file = try #require(
            try await shell.run("grep -l 49301234 -r data/conversations").output.split(separator: "\n").first)
        let line =
            #"{"seq":2,"at":"2026-11-26T10:00:00.000Z","direction":"inbound","id":"tel:+49301234","kind":"text","customer":"tel:+49301234","record":2,"files":[{"sha256":"\#(hash)","size":9}]}"#
        let planted = try await shell.run(
            "mkdir -p data/attachments/ab && \(command) data/attachments/ab/\(hash) && echo '\(line)' >> \(file)"
        )
        #expect(planted.status == 0, "\(planted.errors)")
        let export = try await shell.run("timeout 20 balloon export out --customer tel:+49301234")
        #expect(export.status != 0 && export.status != 124, "\(export.output)")
        let get = try await shell.run("timeout 20 balloon attachments get \(hash)")
        #expect(get.status != 0 && get.status != 124 && get.output.isEmpty)
        #expect(try await shell.run("grep -rl \"root's secret\" out out.new").output == "")
    }

    @Test func `root reads a data directory with the rights of its owner, and writes as root`() async throws {
        // Only root can test what root's commands do.
        guard FileOwner.currentUser == 0 else { return }
        let directory = TemporaryDirectory()
        try await fill(directory)
        let shell = Shell(directory: directory.path)
        let prepared = try await shell.run(
            """
            chmod 755 . && mkdir -m 700 private && mkdir private/conversations && cp -r data/conversations/* private/conversations \
            && rm -r data/conversations && ln -s "$PWD/private/conversations" data/conversations && chown -hR 65534:65534 data
            """)
        #expect(prepared.status == 0, "\(prepared.errors)")
        let export = try await shell.run("balloon export out --customer tel:+49301234")
        #expect(!Directory.exists(directory.file("out")), "\(export.output)")
        let restored = try await shell.run(
            "rm data/conversations && mv private/conversations data/ && chown -hR 65534:65534 data")
        #expect(restored.status == 0)
        let done = try await shell.run("balloon export out --customer tel:+49301234")
        #expect(done.status == 0, "\(done.errors)")
        #expect(try FileStatus.ownerAndMode(of: directory.file("out")).owner == 0)
        let audit = String(
            decoding: try File(directory.file("data/audit.jsonl"), for: .reading).readAll(), as: UTF8.self)
        #expect(audit.contains(#""by":{"uid":0},"command":"balloon export","conversations":[""#), "\(audit)")
        #expect(try FileStatus.ownerAndMode(of: directory.file("data/audit.jsonl")).owner == 65534)
    }

    @Test(arguments: [("tel:+49155501", "urn:mbid:invited"), ("urn:mbid:invited", "tel:+49155501")])
    func `a person who accepted an invitation is exported and erased with both identifiers`(
        named: String, other: String
    ) async throws {
        let directory = TemporaryDirectory()
        try await fill(directory)
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .invitation) }
        let business = BusinessID("b-1")
        let invitation =
            #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"r","notification":{"referenceId":"order-1"}}}}"#
        _ = try await store.send(
            ReceivedMessage(
                business: business, customer: CustomerID("tel:+49155501"), id: MessageID("i-1"),
                message: Array(invitation.utf8), outboundKind: .invitation))
        // The last two only name the number: with a wrong reference, and after the first acceptance.
        for (customer, reference) in [
            ("urn:mbid:wrong", "order-2"), ("urn:mbid:invited", "order-1"), ("urn:mbid:late", "order-1"),
        ] {
            let text =
                #"{"type":"interactive","interactiveData":{"data":{"referenceId":"\#(reference)","requestIdentifier":"tel:+49155501","notification":{"id":"yes"}}}}"#
            let message = ReceivedMessage(
                business: business, customer: CustomerID(customer), id: MessageID(customer),
                message: Array(text.utf8))
            store.append(message) { #expect($0 == .stored) }
            let delivery = try #require(await store.nextDelivery(for: business))
            try await store.finish(delivery, result: .handled)
        }
        await store.close()
        let shell = Shell(directory: directory.path)
        let dry = try await shell.run("balloon erase --customer '\(named)'")
        #expect(
            dry.output.hasSuffix("the same person, by an accepted invitation: \(other)\n"), "\(dry.output)")
        let one = try await shell.run("balloon export one --customer '\(other)'")
        let both = try await shell.run("balloon export both --linked --customer '\(named)'")
        #expect(!one.output.contains("exported 2"), "\(one.output)")
        #expect(!both.output.contains("exported 0"), "\(both.output) \(both.errors)")
        let done = try await shell.run("balloon erase --yes --json --customer '\(named)'")
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output.contains(#""linked":["\#(other)"]"#), "\(done.output)")
        let customers = try await customers(shell)
        #expect(customers.contains("urn:mbid:wrong") && customers.contains("urn:mbid:late"))
        #expect(!customers.contains("urn:mbid:invited") && !customers.contains("tel:+49155501"))
        #expect(try await shell.run("balloon conversations verify").status == 0)
    }

    @Test(arguments: [#"a"b"#, #"a\b"#, "a b", " a ", "ä/ö"])
    func `an identifier with quotation marks, backslashes or blanks is erased from every file`(id: String)
        async throws
    {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        store.startRecording { try store.write($0, as: .text) }
        let message = ReceivedMessage(
            business: BusinessID("b-1"), customer: CustomerID("77\(id)77"), id: MessageID("m"),
            message: Array(#"{"type":"text","body":"MARK77"}"#.utf8))
        store.append(message) { #expect($0 == .stored) }
        let delivery = try #require(await store.nextDelivery(for: BusinessID("b-1")))
        try await store.finish(delivery, result: .rejected(reason: "MARK77"))
        await store.close()
        let scratch = JSONWriter.object { $0.field("customer", "77\(id)77") }
        try Directory.make(directory.file("data/handlers/b"))
        try AtomicFile.write(scratch, to: directory.file("data/handlers/b/1.json"))
        let shell = Shell(directory: directory.path)
        try AtomicFile.write(Array("77\(id)77\n".utf8), to: directory.file("ids"))
        let done = try await shell.run("balloon erase --customer - --yes < ids")
        #expect(done.output.hasPrefix("erased 1 conversation,"), "\(done.output) \(done.errors)")
        #expect(!Directory.exists(directory.file("data/handlers/b/1.json")))
        #expect(try await shell.run("grep -rl MARK77 data").output == "")
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
