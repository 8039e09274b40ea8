import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// Data directories that earlier versions wrote.
///
/// `data-directories/before-outbox` is the directory that commit 99372eb left when it was killed. Before its last
/// checkpoint it has a message with two accepted replies, and a dead letter. After the checkpoint it has a handled
/// message of whose two replies one was sent, a message that failed together with its reply, a parked message, a
/// proactive message, a message with an unresolved payload reference, and two messages that wait.
struct MigrationTests {
    let directory = StoreDirectory()

    init() throws {
        try copyTree(Fixture.directory + "/data-directories/before-outbox", to: directory.path)
    }

    @Test func `a data directory of a version without the outbox is opened with its unfinished replies`()
        async throws
    {
        let store = try directory.open()
        #expect(store.journalDamage.isEmpty)
        let statistics = store.statistics
        #expect(statistics.pendingDeliveries == 5)
        #expect(statistics.parkedDeliveries == 1)
        #expect(statistics.pendingReferences == 1)
        // The reply that was not sent before is sent, and so is the proactive message.
        var replies: [String] = []
        while let entry = store.leaseReply() {
            #expect(entry.isRecovered)
            replies.append(entry.reply.id.rawValue)
            try await store.settle(entry, .accepted(status: 200))
        }
        #expect(replies.sorted() == ["half-sent-r1", "own"])
        // All of its messages are known to the deduplication.
        for id in ["handled", "dead", "later", "half-sent", "parked", "own", "reference", "pending"] {
            #expect(await store.append(message(id)) == .duplicate, "\(id)")
        }
        let reference = try #require(await store.nextReference())
        try await store.resolve(reference, .failed(reason: "gone"))
        var delivered: [String] = []
        for _ in 0..<4 {
            let delivery = try await store.lease()
            #expect((delivery.decided != nil) == (delivery.id == MessageID("half-sent")))
            delivered.append(delivery.id.rawValue)
            try await store.finish(delivery, result: .handled)
        }
        #expect(delivered.sorted() == ["half-sent", "pending", "pending-2", "reference"])
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path)
            .lines(of: business, CustomerID("urn:mbid:1"))
        #expect(
            lines.map(\.id.rawValue) == ["handled", "handled-r0", "handled-r1", "later"])
        let verification = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(verification.problems == 0)
    }

    @Test func `dead letters in a data directory of a version without the outbox can be retried`()
        async throws
    {
        let store = try directory.open()
        let events = try JournalFiles(dataDirectory: directory.path).events { $0.isDeadLetter }
        let dead = try #require(events.first { $0.id == MessageID("dead") })
        #expect(dead.reason == "the handler failed")
        let again = try await store.replay([dead.record])
        #expect(again.count == 1)
        // The reply to this message had not been sent when the delivery failed.
        let refused = try #require(events.first { $0.id == MessageID("decided-dead") })
        let retried = try await store.retry([ReplyID(record: refused.record, index: 0)])
        #expect(retried.count == 1)
        await store.close()
    }
}
