import BusinessMessages
import Testing

@testable import MessageStore

/// Messages that a business sent of its own accord, found by their ids.
@Suite struct SentMessageTests {
    private let directory = StoreDirectory()

    private func outbound(_ id: String, digest: String? = nil) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array(#"{"id":"\#(id)","type":"text","body":"hello"}"#.utf8), outboundKind: .text,
            requestDigest: digest)
    }

    @Test func `a sent message has its request's digest and its outcome, also after a restart`() async throws
    {
        let store = try directory.open()
        #expect(try await store.send(outbound("s1", digest: "abc")) == .stored)
        #expect(try await store.send(outbound("s2")) == .stored)
        let queued = try #require(try await store.sentMessage(MessageID("s1"), of: business))
        #expect(queued.requestDigest == "abc" && queued.result == nil && queued.customer == customer)
        let name = ConversationFiles.name(of: customer)
        #expect(store.unwrittenOutcome(of: MessageID("s1"), of: business, in: name) == .some(nil))
        #expect(store.unwrittenOutcome(of: MessageID("s1"), of: business, in: "other") == nil)
        let entry = try #require(store.leaseReply())
        try await store.settle(entry, .refused(status: 400, reason: "no"))
        #expect(store.unwrittenOutcome(of: MessageID("s1"), of: business, in: name) == nil)
        let copy = try directory.copy()
        let reopened = try copy.open()
        for store in [store, reopened] {
            let sent = try #require(try await store.sentMessage(MessageID("s1"), of: business))
            #expect(sent.requestDigest == "abc" && sent.result == .refused(status: 400, reason: "no"))
            let other = try #require(try await store.sentMessage(MessageID("s2"), of: business))
            #expect(other.requestDigest == nil && other.result == nil)
            #expect(try await store.sentMessage(MessageID("s3"), of: business) == nil)
            #expect(try await store.sentMessage(MessageID("s1"), of: BusinessID("another")) == nil)
        }
        await reopened.close()
        await store.close()
        withExtendedLifetime(copy) {}
    }

    @Test func `a message that an operator sent again has the outcome of the retry`() async throws {
        let store = try directory.open()
        #expect(try await store.send(outbound("s1", digest: "abc")) == .stored)
        let entry = try #require(store.leaseReply())
        try await store.settle(entry, .refused(status: 400, reason: "no"))
        _ = try await store.retry([entry.id])
        let queued = try #require(try await store.sentMessage(MessageID("s1"), of: business))
        #expect(queued.requestDigest == "abc" && queued.result == nil)
        try await store.settle(try #require(store.leaseReply()), .accepted(status: 200))
        #expect(
            try await store.sentMessage(MessageID("s1"), of: business)?.result == .accepted(status: 200))
        await store.close()
    }

    @Test func `a queued message is sent once although the deduplication index has forgotten it`()
        async throws
    {
        let store = try directory.open { $0.maximumRememberedMessages = 4 }
        #expect(try await store.send(outbound("s1", digest: "abc")) == .stored)
        for number in 0..<8 { #expect(await store.append(message("m\(number)")) == .stored) }
        #expect(store.deduplicator.count <= 4)
        let copy = try directory.copy()
        let reopened = try copy.open { $0.maximumRememberedMessages = 4 }
        for store in [store, reopened] {
            #expect(try await store.send(outbound("s1", digest: "abc")) == .duplicate)
            #expect(store.queuedReplyCount == 1)
            #expect(try await store.sentMessage(MessageID("s1"), of: business)?.requestDigest == "abc")
            try await store.settle(try #require(store.leaseReply()), .accepted(status: 200))
            // The message has ended and is forgotten: the same id is another message.
            #expect(try await store.send(outbound("s1", digest: "abc")) == .stored)
        }
        await reopened.close()
        await store.close()
        withExtendedLifetime(copy) {}
    }

    @Test func `a customer's message is no sent message`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        #expect(try await store.sentMessage(MessageID("1"), of: business) == nil)
        await store.close()
    }
}
