import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

struct FilesTests {
    let directory = StoreDirectory()
    let files: [RecordedFile] = [.stored(sha256: "ab12", sizeBytes: 7), .failed(reason: "gone")]

    @Test func `the results of attachments are a separate later line, and are shown with their message`()
        async throws
    {
        let store = try directory.open()
        _ = await store.append(message("m"))
        let first = try await store.lease()
        #expect(first.files == nil)
        try await store.recordResults(first, files: files)
        let lines = try store.recentLines(of: business, customer, maximum: 2)
        #expect(lines.map(\.files) == [files])
        #expect(lines.first?.message["body"]?.string == "hello")
        await store.close()
        let path = directory.path + "/conversations/" + ConversationFixture.path(business, customer)
        let written = try File(path, for: .reading).readAll().split(separator: UInt8(ascii: "\n"))
        #expect(written.map { ConversationLine(Array($0))?.isFilesOnly } == [false, true])
        let again = try directory.open()
        let delivery = try await again.lease()
        #expect(delivery.files == files)
        try await again.finish(delivery, result: .handled)
        await again.close()
        let result = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect((result.problems, result.lines) == (0, 2))
    }

    @Test func `conversation lines lost by a power failure are restored with the results of attachments`()
        async throws
    {
        let store = try directory.open { $0.checkpointInterval = .seconds(3600) }
        _ = await store.append(message("m"))
        let delivery = try await store.lease()
        try await store.recordResults(delivery, files: files)
        try await store.finish(delivery, result: .handled)
        await store.journal.flush()
        // The copy has the journal, but no conversation file.
        let copy = try directory.copy()
        try removeConversations(of: copy)
        await store.close()
        let again = try copy.open()
        #expect(try again.recentLines(of: business, customer, maximum: 9).map(\.files) == [files])
        await again.close()
    }

    @Test func `the result of a sign-in is a later line, and is restored after a power failure`() async throws
    {
        let signIn = RecordedSignIn(result: "signedIn", issuer: "https://p.example", subject: "7")
        let store = try directory.open { $0.checkpointInterval = .seconds(3600) }
        _ = await store.append(message("m"))
        let delivery = try await store.lease()
        try await store.recordResults(delivery, signIn: signIn)
        let written = try store.recentLines(of: business, customer, maximum: 9)
        #expect(written.map(\.signIn) == [signIn] && written.map(\.files) == [[]])
        #expect(written.first?.message["body"]?.string == "hello")
        try await store.finish(delivery, result: .withPerson)
        await store.journal.flush()
        let copy = try directory.copy()
        try removeConversations(of: copy)
        await store.close()
        let again = try copy.open()
        #expect(try again.recentLines(of: business, customer, maximum: 9).map(\.signIn) == [signIn])
        await again.close()
        let result = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect((result.problems, result.lines) == (0, 2))
    }

    @Test(arguments: [
        (["text"], false), (["text", "close"], true), (["text", "close", "typing_start"], true),
        (["text", "close", "text"], false), (["typing_end"], false), (["close"], true),
    ])
    func `a conversation that its customer closed counts as closed until the customer writes again`(
        types: [String], isClosing: Bool
    ) async throws {
        let store = try directory.open()
        let key = ConversationKey(business: business, customer: customer)
        for (number, type) in types.enumerated() {
            _ = await store.append(
                ReceivedMessage(
                    business: business, customer: customer, id: MessageID("\(number)"),
                    message: Array(#"{"id":"\#(number)","type":"\#(type)"}"#.utf8),
                    act: ReceivedMessage.Act(type: type)))
        }
        #expect((store.scheduler.closes(key) ?? false) == isClosing)
        #expect(
            store.scheduler.closes(ConversationKey(business: business, customer: CustomerID("other"))) == nil)
        // A message of the business does not reopen the conversation.
        _ = await store.append(
            ReceivedMessage(
                business: business, customer: customer, id: MessageID("own"), message: Array("{}".utf8),
                outboundKind: .text))
        #expect((store.scheduler.closes(key) ?? false) == isClosing)
        await store.close()
        #expect((try directory.open().scheduler.closes(key) ?? false) == isClosing)
    }

    @Test func `a command that sends without a running server leases replies of its own conversation only`()
        async throws
    {
        let store = try directory.open()
        #expect(store.leaseReply(of: business, customer) == nil)
        for (id, to) in [("own", customer), ("other", CustomerID("d")), ("later", customer)] {
            _ = await store.append(
                ReceivedMessage(
                    business: business, customer: to, id: MessageID(id), message: Array("{}".utf8),
                    outboundKind: .text))
        }
        let own = try #require(store.leaseReply(of: business, customer))
        #expect(own.reply.id == MessageID("own"))
        // The next reply of the conversation waits for it.
        #expect(store.leaseReply(of: business, customer) == nil)
        try await store.settle(own, .accepted(status: 200))
        #expect(store.leaseReply(of: business, customer)?.reply.id == MessageID("later"))
        await store.close()
    }
}

private func removeConversations(of directory: StoreDirectory) throws {
    let root = directory.path + "/conversations"
    for business in try Directory.names(in: root) {
        for folder in try Directory.names(in: "\(root)/\(business)") {
            for name in try Directory.names(in: "\(root)/\(business)/\(folder)") {
                try Directory.remove("\(root)/\(business)/\(folder)/\(name)")
            }
        }
    }
}
