import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// Lists of queued replies and replies that are dead letters.
struct ReplyListTests {
    private let directory = StoreDirectory()

    private func reply(_ id: String) -> DecidedReply {
        DecidedReply(id: MessageID(id), kind: .text, message: Array(#"{"id":"\#(id)"}"#.utf8))
    }

    /// Decides two replies to each of `count` messages; the first reply of each is refused.
    private func fill(_ store: Store, _ count: Int) async throws {
        for number in 0..<count {
            #expect(await store.append(message("m\(number)", from: CustomerID("c\(number % 3)"))) == .stored)
            let delivery = try await store.lease()
            try await store.decide(
                delivery, DecidedOutcome(.handled, replies: [reply("r\(number)-0"), reply("r\(number)-1")]))
            try await store.finish(delivery, result: .handled)
            let entry = try #require(store.leaseReply(of: business, delivery.customer))
            // The outbox returns the first queued reply of the conversation, which may belong to an earlier message.
            try await store.settle(entry, .refused(status: 400, reason: "no"), isReported: false)
        }
    }

    private func walk(_ store: Store, _ query: Store.ReplyQuery) async throws -> [String] {
        var (query, texts) = (query, [String]())
        repeat {
            let page = try await store.replies(query)
            #expect(page.replies.count <= query.limit)
            texts += page.replies.map { "\($0.id) \($0.status)" }
            query.before = page.next
        } while query.before != nil
        return texts
    }

    private func expected(_ wanted: (JournalReply) -> Bool) throws -> [String] {
        var replies: [JournalReply] = []
        try JournalFiles(dataDirectory: directory.path).forEachReply(where: wanted) { replies.append($0) }
        return replies.sorted { $0.id > $1.id }.map { "\($0.id) \($0.status)" }
    }

    @Test func `pages of replies and the whole journal have the same replies`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store, 12)
        await store.journal.flush()
        #expect(try directory.segments().count > 2)
        var query = Store.ReplyQuery(of: business)
        let all = try expected { $0.status == .queued || $0.isDeadLetter }
        #expect(all.count == 24)
        for limit in [1, 5, 200] {
            query.limit = limit
            #expect(try await walk(store, query) == all)
        }
        query.status = .refused
        #expect(try await walk(store, query) == expected { $0.status == .refused })
        query.status = .queued
        query.conversation = ConversationDigest(of: CustomerID("c1"))
        let one = try expected { $0.status == .queued && $0.customer == CustomerID("c1") }
        #expect(!one.isEmpty)
        #expect(try await walk(store, query) == one)
        #expect(try await walk(store, Store.ReplyQuery(of: BusinessID("other"))).isEmpty)
        #expect(store.deadLetterCount(of: business) == 12)
        await store.close()
    }

    @Test func `a retried or dropped reply is no longer listed`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 3000 }
        try await fill(store, 3)
        var query = Store.ReplyQuery(of: business)
        query.status = .refused
        let dead = try await store.replies(query).replies.map(\.id)
        #expect(dead.count == 3)
        _ = try await store.retry([dead[0]])
        _ = try await store.drop([dead[1]], reason: "no")
        #expect(try await store.replies(query).replies.map(\.id) == [dead[2]])
        #expect(store.deadLetterCount(of: business) == 1)
        await store.close()
    }
}
