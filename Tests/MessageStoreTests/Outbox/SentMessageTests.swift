import BalloonPOSIX
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

    @Test func `only a message that ended is searched in the journal, and an accepted one once`() async throws
    {
        let store = try directory.open()
        func searches(_ id: String) async throws -> Bool {
            let flag = OnceFlag()
            _ = try await store.sentMessage(MessageID(id), of: business) { read in
                _ = flag.claim()
                return try await read()
            }
            return !flag.claim()
        }
        for (id, result) in [
            ("s1", ReplyResult.accepted(status: 200)), ("s2", .refused(status: 400, reason: "no")),
        ] {
            #expect(try await store.send(outbound(id)) == .stored)
            #expect(try await !searches(id))
            try await store.settle(try #require(store.leaseReply()), result)
            #expect(try await searches(id))
            #expect(try await store.sentMessage(MessageID(id), of: business)?.result == result)
        }
        #expect(try await !searches("s1"))
        // An operator may send it again.
        #expect(try await searches("s2"))
        #expect(try await !searches("unknown"))
        await store.close()
    }

    @Test func `a search of the journal ends at its budget, and a repetition continues`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 1000 }
        #expect(try await store.send(outbound("s1", digest: "abc")) == .stored)
        try await store.settle(try #require(store.leaseReply()), .refused(status: 400, reason: "no"))
        let key = MessageKey(business: business, id: MessageID("s1"))
        let record = try #require(store.deduplicator.record(of: key))
        for number in 0..<20 { #expect(await store.append(message("m\(number)")) == .stored) }
        #expect(try directory.segments().count > 4)
        var unread = 0
        var found: SentMessage?
        while found == nil, unread < 100 {
            do {
                found = try await store.journalledMessage(record, maximumBytes: 1)
            } catch is UnreadJournal {
                unread += 1
            }
        }
        #expect(unread > 2)
        #expect(found?.requestDigest == "abc" && found?.result == .refused(status: 400, reason: "no"))
        await store.close()
    }

    @Test func `a customer's message is no sent message`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        #expect(try await store.sentMessage(MessageID("1"), of: business) == nil)
        await store.close()
    }
}
