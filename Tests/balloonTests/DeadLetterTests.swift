import BalloonPOSIX
import BusinessMessages
import ConversationStore
import TestSupport
import Testing

@Suite struct DeadLetterTests {
    /// A data directory with one dead letter.
    private func directory() async throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let store = try ConversationStore.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let text = #"{"id":"m","v":1,"type":"text","body":"hello","sourceId":"c","destinationId":"b-1"}"#
        store.append(
            ReceivedMessage(
                business: BusinessID("b-1"), customer: CustomerID("c"), id: MessageID("m"),
                message: Array(text.utf8))
        ) { #expect($0 == .stored) }
        let delivery = try #require(await store.nextDelivery(for: BusinessID("b-1")))
        try await store.finish(delivery, result: .failed(reason: "the handler threw Oops"))
        await store.close()
        return directory
    }

    @Test func `a dead letter is listed, shown, retried and dropped without a server`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        let list = try await shell.run("balloon deadletters list")
        #expect(list.output.hasPrefix("2  "))
        #expect(list.output.hasSuffix("  failed  b-1  c  text: hello  (the handler threw Oops)\n"))
        #expect(try await shell.run("balloon deadletters list --kind form").output == "")
        #expect(try await shell.run("balloon deadletters list --status rejected").output == "")
        #expect(try await shell.run("balloon deadletters list --status failed").output == list.output)
        #expect(try await shell.run("balloon deadletters drop --all --status rejected").output == "")
        #expect(try await shell.run("balloon deadletters list --until 2001-01-01T00:00:00Z").output == "")
        let shown = try await shell.run("balloon deadletters show 2")
        #expect(shown.output.contains(#""reason":"the handler threw Oops","message":{"id":"m""#))
        let retried = try await shell.run("balloon deadletters retry 2 2")
        #expect(retried.output.hasPrefix("2 is handed over again as "), "\(retried.errors)")
        #expect(retried.output.split(separator: "\n").count == 1)
        #expect(try await shell.run("balloon deadletters list").output == "")
        let again = try await shell.run("balloon deadletters drop 2")
        #expect(again.status == 64)
        let unknown = try await shell.run("balloon events show 99")
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("no message has the record 99"))
        let events = try await shell.run("balloon events list --json --status retried")
        #expect(events.output.contains(#"{"record":2,"#))
    }

    @Test func `dropped, it is in the journal and on no list`() async throws {
        let directory = try await directory()
        let shell = Shell(directory: directory.path)
        #expect(try await shell.run("balloon deadletters drop --all").output == "2 is dropped\n")
        #expect(try await shell.run("balloon deadletters list").output == "")
        #expect(try await shell.run("balloon events list --status dropped").output.hasPrefix("2  "))
    }

    @Test func `a server that runs is asked to drop`() async throws {
        let directory = try await directory()
        try Directory.make(directory.file("businesses"))
        let files = [
            "server.json": #"{"mspID":"msp","secret":{"file":"secret"},"listen":"127.0.0.1:1"}"#,
            "secret": "c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n",
            "businesses/silent.json": #"{"businessID":"b-1","name":"Silent","handler":{"builtin":"none"}}"#,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
        let shell = Shell(directory: directory.path)
        let running = try shell.start(
            "exec balloon serve --config server.json --listen 127.0.0.1:0 --data data 2>log")
        _ = try #require(await running.output(until: "listening on 127.0.0.1:"))
        let dropped = try await shell.run("balloon deadletters drop 2")
        #expect(dropped.output == "2 is dropped\n", "\(dropped.errors)")
        #expect(try await shell.run("balloon deadletters list").output == "")
        #expect(try await shell.run("balloon deadletters drop 2").status != 0)
        running.terminate()
        #expect(await running.wait() == 0)
        #expect(try await shell.run("balloon events list --status dropped").output.hasPrefix("2  "))
    }

    @Test func `a server that runs is asked to replay, and a replay is dry unless it is to be sent`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("businesses"))
        let files = [
            "server.json": #"{"mspID":"msp","secret":{"file":"secret"},"listen":"127.0.0.1:1"}"#,
            "secret": "c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n",
            "businesses/silent.json": #"{"businessID":"b-1","name":"Silent","handler":{"builtin":"none"}}"#,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
        let shell = Shell(directory: directory.path)
        let running = try shell.start(
            "exec balloon serve --config server.json --listen 127.0.0.1:0 --data data 2>log")
        let output = try #require(await running.output(until: "listening on 127.0.0.1:"))
        let address = output.dropFirst("listening on ".count).dropLast()
        _ = try await shell.run("balloon simulate text --config server.json --to http://\(address)")
        // The 200 came before the delivery's end.
        let deadline = ContinuousClock.now + .seconds(30)
        while try await shell.run("balloon events list --status unhandled").output.isEmpty,
            ContinuousClock.now < deadline
        {}
        let dry = try await shell.run("balloon events replay --status unhandled")
        #expect(dry.errors == "1 would be handed over again; --send does it\n")
        let sent = try await shell.run("balloon events replay --status unhandled --send")
        #expect(sent.errors.hasPrefix("handed over again as "), "\(sent.errors)")
        let wrong = try await shell.run("balloon events replay 1 --send")
        #expect(wrong.status == 64)
        running.terminate()
        #expect(await running.wait() == 0)
        let events = try await shell.run("balloon events list --status unhandled")
        #expect(events.output.split(separator: "\n").count == 2)
        #expect(try await shell.run("balloon conversations list").output.contains("  1  b-1  "))
    }
}
