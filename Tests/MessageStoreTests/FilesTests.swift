import BalloonPOSIX
import BusinessMessages
import MessageStore
import Testing

struct FilesTests {
    let directory = StoreDirectory()
    let files: [RecordedFile] = [.stored(sha256: "ab12", sizeBytes: 7), .failed(reason: "gone")]

    @Test func `what became of attachments is kept across a restart, and stands in the line`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m"))
        let first = try await store.lease()
        #expect(first.files == nil)
        try await store.recordFiles(first, files)
        await store.close()
        let again = try directory.open()
        let delivery = try await again.lease()
        #expect(delivery.files == files)
        try await again.recordInbound(
            delivery, kind: .text, message: delivery.message, files: delivery.files ?? [])
        let line = try #require(again.recentLines(of: business, customer, maximum: 1).first)
        #expect(line.files == files)
        await again.close()
    }

    @Test func `a line that a power cut took comes back with its files`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m"))
        let delivery = try await store.lease()
        try await store.recordFiles(delivery, files)
        try await store.decide(delivery, DecidedOutcome(.handled))
        try await store.recordInbound(delivery, kind: .text, message: delivery.message, files: files)
        try await store.finish(delivery, result: .handled)
        // The copy has the journal, and a conversation that was never written.
        let copy = try directory.copy()
        try removeConversations(of: copy)
        await store.close()
        let again = try copy.open()
        #expect(try again.recentLines(of: business, customer, maximum: 9).map(\.files) == [files])
        await again.close()
    }

    @Test(arguments: [
        (["text"], false), (["text", "close"], true), (["text", "close", "typing_start"], true),
        (["text", "close", "text"], false), (["typing_end"], false), (["close"], true),
    ])
    func `a close that waits in the journal is known, until the customer writes again`(
        types: [String], isClosing: Bool
    ) async throws {
        let store = try directory.open()
        for (number, type) in types.enumerated() {
            _ = await store.append(
                ReceivedMessage(
                    business: business, customer: customer, id: MessageID("\(number)"),
                    message: Array(#"{"id":"\#(number)","type":"\#(type)"}"#.utf8),
                    act: ReceivedMessage.Act(type: type)))
        }
        #expect(store.isClosing(business, customer) == isClosing)
        #expect(!store.isClosing(business, CustomerID("other")))
        // What the business says itself opens nothing.
        _ = await store.append(
            ReceivedMessage(
                business: business, customer: customer, id: MessageID("own"), message: Array("{}".utf8),
                outboundKind: .text))
        #expect(store.isClosing(business, customer) == isClosing)
        await store.close()
        #expect(try directory.open().isClosing(business, customer) == isClosing)
    }

    @Test func `only what goes out unasked is leased for who handles nothing, and only in its turn`()
        async throws
    {
        let store = try directory.open()
        #expect(store.nextOutbound(of: business, customer) == nil)
        _ = await store.append(
            ReceivedMessage(
                business: business, customer: customer, id: MessageID("own"), message: Array("{}".utf8),
                outboundKind: .text))
        _ = await store.append(message("m"))
        _ = await store.append(
            ReceivedMessage(
                business: business, customer: customer, id: MessageID("later"), message: Array("{}".utf8),
                outboundKind: .text))
        let own = try #require(store.nextOutbound(of: business, customer))
        #expect(own.id == MessageID("own"))
        #expect(own.decided?.replies.count == 1)
        #expect(store.nextOutbound(of: business, customer) == nil)
        try await store.finish(own, result: .handled)
        #expect(store.nextOutbound(of: business, customer) == nil)
        #expect(try await store.lease().id == MessageID("m"))
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
