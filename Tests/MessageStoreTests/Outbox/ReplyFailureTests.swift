import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// A failed reply is an event of its conversation, when its handler subscribes to it.
struct ReplyFailureTests {
    let directory = StoreDirectory()
    private let refused = ReplyResult.refused(status: 400, reason: "Bad Request")

    private func reply(_ id: String) -> DecidedReply {
        DecidedReply(id: MessageID(id), kind: .text, message: Array(#"{"id":"\#(id)","type":"text"}"#.utf8))
    }

    /// Opens a store with a message `1`; its reply `r1` was refused, which an event reports to the handler.
    private func storeWithFailure(_ change: (inout StoreConfiguration) -> Void = { _ in }) async throws
        -> Store
    {
        let store = try directory.open(change)
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply("r1")]))
        try await store.finish(delivery, result: .handled)
        try await store.settle(try #require(store.leaseReply()), refused, isReported: true)
        return store
    }

    @Test func `a failed reply is delivered after its line, with the details for the handler`()
        async throws
    {
        let store = try await storeWithFailure()
        let failure = try await store.lease()
        #expect(failure.isReplyFailure)
        #expect(failure.kind == nil)
        #expect(failure.attributes.capabilityList == "QUICK,LIST")
        let told = try JSONDocument(failure.message).root
        #expect(told["reply"]?.string == "r1")
        #expect(told["inReplyTo"]?.string == "1")
        #expect(told["kind"]?.string == "text")
        #expect(told["status"]?.string == "refused")
        #expect(told["httpStatus"]?.int == 400)
        #expect(told["reason"]?.string == "Bad Request")
        #expect(told["attempts"]?.int == 1)
        let lines = try store.recentLines(of: business, customer, maximum: 10)
        #expect(lines.map(\.outcome) == [nil, "refused"])
        try await store.finish(failure, result: .handled)
        await store.close()
        let verification = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(verification.problems == 0)
    }

    @Test func `a failed reply is delivered in the order of its conversation`() async throws {
        let store = try directory.open()
        for id in ["1", "2"] { #expect(await store.append(message(id)) == .stored) }
        let first = try await store.lease()
        try await store.decide(first, DecidedOutcome(.handled, replies: [reply("r1")]))
        try await store.finish(first, result: .handled)
        let second = try await store.lease()
        try await store.settle(try #require(store.leaseReply()), refused, isReported: true)
        #expect(await store.append(message("3", reference: true)) == .stored)
        let reference = try #require(await store.nextReference())
        try await store.finish(second, result: .handled)
        let failure = try await store.lease()
        #expect(failure.isReplyFailure)
        try await store.finish(failure, result: .handled)
        try await store.resolve(reference, .failed(reason: "gone"))
        #expect(try await store.lease().id == MessageID("3"))
        await store.close()
    }

    @Test func `a restart delivers an unfinished failure event, with its number of attempts`()
        async throws
    {
        let store = try await storeWithFailure()
        store.postpone(try await store.lease(), after: .zero)
        await store.journal.flush()
        let copy = try directory.copy()
        let restarted = try copy.open()
        let failure = try await restarted.lease()
        #expect(failure.isReplyFailure)
        #expect(failure.attempt == 2)
        #expect(restarted.statistics.pendingDeliveries == 1)
        // Kills neither lose nor repeat the reply to the failure event.
        try await restarted.decide(failure, DecidedOutcome(.handled, replies: [reply("r2")]))
        let decidedCopy = try copy.copy()
        let decided = try decidedCopy.open()
        #expect(try await decided.lease().decided?.replies.map(\.id) == [MessageID("r2")])
        #expect(decided.leaseReply()?.reply == reply("r2"))
        await decided.close()
        try await restarted.finish(failure, result: .handled)
        await restarted.close()
        let last = try copy.open()
        #expect(last.statistics.pendingDeliveries == 0)
        #expect(last.leaseReply()?.reply.id == MessageID("r2"))
        await last.close()
        withExtendedLifetime((copy, decidedCopy)) {}
        await store.close()
    }

    @Test func `when the answer to a replyFailed event fails too, no event reports it, also after a restart`()
        async throws
    {
        let store = try await storeWithFailure()
        let failure = try await store.lease()
        try await store.decide(failure, DecidedOutcome(.handled, replies: [reply("r2")]))
        try await store.finish(failure, result: .handled)
        // The end of a delivery is written with the next batch; the copy must have it.
        await store.journal.flush()
        let copy = try directory.copy()
        let restarted = try copy.open()
        for store in [store, restarted] {
            let entry = try #require(store.leaseReply())
            #expect(entry.reply.id == MessageID("r2"))
            #expect(!entry.isReportable)
            try await store.settle(entry, refused, isReported: true)
            #expect(store.statistics.pendingDeliveries == 0)
            await store.close()
        }
        withExtendedLifetime(copy) {}
        let dead = try JournalFiles(dataDirectory: directory.path).replies([
            ReplyID(record: failure.record, index: 0)
        ])
        #expect(dead.map(\.isDeadLetter) == [true])
        let verification = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(verification.problems == 0)
    }

    @Test(arguments: [
        ReplyResult.accepted(status: 200), .dropped(reason: "closed"),
    ])
    func `a reply that ends without failing is not reported to the handler`(_ result: ReplyResult)
        async throws
    {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply("r1")]))
        try await store.finish(delivery, result: .handled)
        try await store.settle(try #require(store.leaseReply()), result, isReported: true)
        #expect(store.statistics.pendingDeliveries == 0)
        await store.close()
    }

    @Test func `a reply's end that was written twice is reported once`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply("r1")]))
        try await store.finish(delivery, result: .handled)
        let entry = try #require(store.leaseReply())
        for _ in 1...2 {
            _ = try await store.journal.append(
                JournalBody.reply(entry, refused, attempts: 1, isReported: true, at: .now()))
        }
        await store.close()
        let restarted = try directory.open()
        #expect(restarted.statistics.pendingDeliveries == 1)
        try await restarted.finish(try await restarted.lease(), result: .handled)
        await restarted.close()
        #expect(try directory.open().statistics.pendingDeliveries == 0)
        let events = try JournalFiles(dataDirectory: directory.path).events { $0.isReplyFailure }
        #expect(events.map(\.status) == [.handled])
    }

    @Test(arguments: [DeliveryResult.failed(reason: "no answer"), .rejected(reason: "no")])
    func `a failure event that its handler does not accept is dropped, not a dead letter`(
        _ result: DeliveryResult
    )
        async throws
    {
        let store = try await storeWithFailure()
        let failure = try await store.lease()
        try await store.finish(failure, result: result)
        await store.journal.flush()
        let event = try #require(
            try JournalFiles(dataDirectory: directory.path).events([failure.record]).first)
        #expect(event.status == .dropped)
        #expect(event.reason == result.reason)
        await #expect(throws: StoreError.notReplayable(record: failure.record)) {
            _ = try await store.replay([failure.record])
        }
        await store.close()
    }

    @Test func `the failure events of a removed business are dropped with its messages`() async throws {
        let store = try await storeWithFailure()
        // The age is negative, because the record may have the very millisecond of the call.
        let ended = try await store.endPending(
            of: [business], olderThan: .seconds(-1), reason: "removed")
        #expect(ended == 1)
        let event = try #require(
            try JournalFiles(dataDirectory: directory.path).events { $0.isReplyFailure }.first)
        #expect(event.status == .dropped)
        await store.close()
    }

    @Test func `a failure event is kept when the answered message's segment is deleted`() async throws {
        let store = try directory.open {
            $0.maximumSegmentAge = .zero
            $0.deduplicationWindow = .zero
            $0.checkpointInterval = .seconds(3600)
        }
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply("r1")]))
        try await store.finish(delivery, result: .handled)
        await store.retention.run()
        // This message is in a segment of its own.
        #expect(await store.append(message("2", from: CustomerID("another"))) == .stored)
        try await store.finish(try await store.lease(), result: .handled)
        try await store.settle(try #require(store.leaseReply()), refused, isReported: true)
        for _ in 1...3 { await store.retention.run() }
        #expect(try directory.records("message").allSatisfy { $0["id"]?.string != "1" })
        let copy = try directory.copy()
        let restarted = try copy.open()
        #expect(restarted.statistics.pendingDeliveries == 1)
        let failure = try await restarted.lease()
        #expect(try JSONDocument(failure.message).root["reply"]?.string == "r1")
        await restarted.close()
        withExtendedLifetime(copy) {}
        await store.close()
    }

    @Test func `a segment is kept as long as a failure event in it is not delivered`() async throws {
        let store = try await storeWithFailure {
            $0.maximumSegmentAge = .zero
            $0.deduplicationWindow = .zero
            $0.checkpointInterval = .seconds(3600)
        }
        let failure = try await store.lease()
        for id in ["2", "3"] {
            #expect(await store.append(message(id, from: CustomerID("another"))) == .stored)
            try await store.finish(try await store.lease(), result: .handled)
        }
        for _ in 1...3 { await store.retention.run() }
        #expect(try directory.records("reply").count == 1)
        try await store.decide(failure, DecidedOutcome(.handled, replies: [reply("r2")]))
        try await store.finish(failure, result: .handled)
        try await store.settle(try #require(store.leaseReply()), .accepted(status: 200))
        for _ in 1...3 { await store.retention.run() }
        #expect(try directory.records("reply").isEmpty)
        await store.close()
    }
}
