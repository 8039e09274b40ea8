import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

@Suite struct RepliesTests {
    /// Creates a data directory with a refused reply, a reply queued after it, and a reply to another customer.
    private func directory() async throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        try await queue("r1", "bad", to: "c", in: store)
        let first = try #require(store.leaseReply())
        try await store.settle(first, .refused(status: 400, reason: "no such thing"))
        try await queue("r2", "hello", to: "c", in: store)
        try await queue("r3", "other", to: "d", in: store)
        await store.close()
        return directory
    }

    private func queue(_ id: String, _ text: String, to customer: String, in store: Store) async throws {
        try await queue(id, .text(text), to: customer, in: store)
    }

    private func queue(
        _ id: String, _ message: OutboundMessage, to customer: String, in store: Store
    ) async throws {
        let (id, business, customer) = (MessageID(id), BusinessID("b-1"), CustomerID(customer))
        let message = ReceivedMessage(
            business: business, customer: customer, id: id,
            message: message.encode(id: id, from: business, to: customer), outboundKind: message.kind)
        await withCheckedContinuation { continuation in
            store.append(message) { _ in continuation.resume() }
        }
    }

    private func names(_ output: String) -> [Substring] {
        output.split(separator: "\n").compactMap { $0.split(separator: " ").first }
    }

    @Test func `queued replies are listed, shown and dropped`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let list = try await shell.run("balloon replies list")
        let queued = names(list.output)
        try #require(queued.count == 2, "\(list.output)\(list.errors)")
        #expect(list.output.contains("  queued  b-1  c  text: hello\n"))
        let shown = try await shell.run("balloon replies show \(queued[0])")
        let reply = try JSONDocument(Array(shown.output.utf8)).root
        #expect(reply["status"]?.string == "queued")
        #expect(reply["id"]?.string == "r2")
        #expect(reply["message"]?["body"]?.string == "hello")
        let dropped = try await shell.run("balloon replies drop \(queued[0])")
        #expect(dropped.output == "\(queued[0]) is dropped\n", "\(dropped.errors)")
        let again = try await shell.run("balloon replies drop \(queued[0])")
        #expect(again.output == "\(queued[0]) already dropped\n")
        #expect(again.status == 0)
        #expect(try await names(shell.run("balloon replies list").output) == [queued[1]])
        #expect(try await names(shell.run("balloon replies list --status dropped").output) == [queued[0]])
        #expect(try await names(shell.run("balloon replies list --all").output).count == 3)
        #expect(try await shell.run("balloon replies show 99.1").status == 64)
    }

    @Test func `a refused reply is a dead letter, and a retry sends it with the same id`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let list = try await shell.run("balloon deadletters list")
        let dead = try #require(names(list.output).first, "\(list.errors)")
        #expect(list.output.hasSuffix("  refused  b-1  c  text: bad  (400: no such thing)\n"))
        #expect(try await shell.run("balloon deadletters list --kind form").output == "")
        let shown = try await shell.run("balloon deadletters show \(dead)")
        #expect(shown.output.contains(#""httpStatus":400,"reason":"no such thing","message":{"#))
        let retried = try await shell.run("balloon deadletters retry \(dead)")
        #expect(retried.output.hasPrefix("\(dead) is sent again as "), "\(retried.errors)")
        #expect(try await shell.run("balloon deadletters list").output == "")
        let name = try #require(retried.output.split(whereSeparator: \.isWhitespace).last)
        let repeated = try await shell.run("balloon deadletters retry \(dead)")
        #expect(repeated.output == "\(dead) already retried as \(name)\n")
        #expect(repeated.status == 0)
        let json = try await shell.run("balloon deadletters retry \(dead) --json")
        #expect(json.output.contains(#""status":"retried","replay":"#))
        let again = try await shell.run("balloon replies show \(name)")
        #expect(again.output.contains(#""status":"queued""#) && again.output.contains(#""id":"r1""#))
    }

    @Test func `the status of an event shows that one of its replies was refused`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let lines = try await shell.run("balloon events list").output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].contains("  handled, 1 of 1 reply refused  b-1  c  text: bad"))
        #expect(lines[1].contains("  pending, 1 of 1 reply queued  b-1  c  text: hello"))
        let shown = try await shell.run("balloon events show \(names(String(lines[0]))[0])")
        #expect(shown.output.contains(#""replies":["refused"]"#))
    }

    @Test func `retry --edit sends the edited message instead of a refused reply, with a new id`()
        async throws
    {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let dead = try #require(names(try await shell.run("balloon deadletters list").output).first)
        try AtomicFile.write(
            Array(#"{"id":"\#(MessageID.random())","type":"text","body":"better"}"#.utf8),
            to: directory.file("edited.json"))
        let both = try await shell.run("balloon deadletters retry --all --edit edited.json")
        #expect(both.status == 64)
        let retried = try await shell.run("balloon deadletters retry \(dead) --edit edited.json")
        let name = try #require(
            retried.output.split(whereSeparator: \.isWhitespace).last, "\(retried.errors)")
        let shown = try await shell.run("balloon replies show \(name)")
        let reply = try JSONDocument(Array(shown.output.utf8)).root
        #expect(reply["message"]?["body"]?.string == "better")
        #expect(reply["id"]?.string != "r1")
        #expect(reply["message"]?["id"]?.string == reply["id"]?.string)
        #expect(try await shell.run("balloon deadletters list").output == "")
    }

    @Test func `a reply is shown without its secrets, and what is shown is not sent again`() async throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let document = try JSONDocument(Fixture.bytes("outbound/authentication.json"))
        let message = try OutboundMessage(json: document)
        let state = try #require(
            document.root["interactiveData"]?["data"]?["authenticate"]?["oauth2"]?["state"]?.string)
        try await queue("r1", message, to: "c", in: store)
        try await store.settle(
            try #require(store.leaseReply()), .refused(status: 400, reason: "no such thing"))
        await store.close()
        let shell = Shell(directory: directory.path)
        let dead = try #require(names(try await shell.run("balloon deadletters list").output).first)
        let shown = try await shell.run("balloon replies show \(dead)")
        #expect(shown.output.contains("[not kept]"), "\(shown.errors)")
        #expect(!shown.output.contains(state))
        let reply = try JSONDocument(Array(shown.output.utf8)).root
        try AtomicFile.write(
            Array(try #require(reply["message"]).text), to: directory.file("edited.json"))
        let retried = try await shell.run("balloon deadletters retry \(dead) --edit edited.json")
        #expect(retried.status != 0)
        #expect(retried.errors.contains("in the place of a secret"))
    }

    @Test func `a refused reply is dropped from the dead letters`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let dropped = try await shell.run("balloon deadletters drop --all")
        #expect(dropped.output.hasSuffix(" is dropped\n"), "\(dropped.errors)")
        #expect(try await shell.run("balloon deadletters list").output == "")
    }

    @Test func `a conversation shows its queued replies after its lines`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let shown = try await shell.run("balloon conversations show c")
        #expect(shown.output.split(separator: "\n").count == 2, "\(shown.output)\(shown.errors)")
        #expect(shown.output.hasSuffix("  business  text: hello  (queued)\n"))
        let json = try await shell.run("balloon conversations show c --json")
        #expect(json.output.contains(#""outcome":"queued""#))
    }

    @Test func `replies are dropped through a running server`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let dead = try #require(names(try await shell.run("balloon deadletters list").output).first)
        let server = try await RecordingServer.start(in: directory)
        let dropped = try await shell.run("balloon deadletters drop \(dead)")
        #expect(dropped.output == "\(dead) is dropped\n", "\(dropped.errors)")
        let again = try await shell.run("balloon deadletters drop \(dead)")
        #expect(again.output == "\(dead) already dropped\n")
        #expect(again.status == 0)
        await server.stop()
    }
}
