import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Glibc
import Testing

@testable import MessageStore

/// Replies and proactive messages in the outbox, and the states of handlers.
struct OutboundTests {
    let directory = StoreDirectory()

    private func outbound(_ id: String) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array(#"{"id":"\#(id)","type":"text","body":"Your bread is ready"}"#.utf8),
            outboundKind: .text)
    }

    @Test func `a proactive message is queued like a reply, and has one conversation line after its end`()
        async throws
    {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        #expect(await store.append(outbound("key")) == .stored)
        #expect(await store.append(outbound("key")) == .duplicate)
        // The proactive message does not wait for the handler of an earlier message.
        let entry = try #require(store.leaseReply())
        #expect(
            entry.reply == DecidedReply(id: MessageID("key"), kind: .text, message: outbound("key").message))
        #expect(entry.inReplyTo == nil)
        #expect(store.queuedReplies(of: business, customer).map(\.reply.id) == [MessageID("key")])
        try await store.settle(entry, .accepted(status: 200))
        #expect(store.queuedReplies(of: business, customer).isEmpty)
        try await store.finish(try await store.lease(), result: .handled)
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(Set(lines.map(\.id)) == [MessageID("1"), MessageID("key")])
        #expect(lines.last { $0.direction == .outbound }?.outcome == "accepted")
        #expect(await (try directory.open()).append(outbound("key")) == .duplicate)
    }

    @Test(arguments: [Kind.authentication, .unrecognized])
    func `a sent request to sign in has no secret in its conversation, and verification accepts that`(
        _ kind: Kind
    ) async throws {
        let store = try directory.open()
        let json =
            #"{"id":"key","type":"interactive","interactiveData":{"data":{"authenticate":{"oauth2":{"state":"S3CRET"}}}}}"#
        let request = ReceivedMessage(
            business: business, customer: customer, id: MessageID("key"), message: Array(json.utf8),
            outboundKind: kind)
        #expect(await store.append(request) == .stored)
        let entry = try #require(store.leaseReply())
        #expect(entry.reply.message == Array(json.utf8))
        try await store.settle(entry, .accepted(status: 200))
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        let message = try #require(lines.first).message
        #expect(
            message["interactiveData"]?["data"]?["authenticate"]?["oauth2"]?["state"]?.string == "[not kept]")
        #expect(try StoreVerification.run(dataDirectory: directory.path, report: { _ in }).problems == 0)
    }

    @Test func `a proactive message survives a restart, and is not sent twice`() async throws {
        let store = try directory.open()
        #expect(await store.append(outbound("key")) == .stored)
        let beforeCopy = try directory.copy()
        let before = try beforeCopy.open()
        #expect(before.leaseReply()?.isRecovered == true)
        withExtendedLifetime(beforeCopy) {}
        let entry = try #require(store.leaseReply())
        try await store.settle(entry, .accepted(status: 200))
        let afterCopy = try directory.copy()
        let after = try afterCopy.open()
        #expect(after.queuedReplyCount == 0)
        #expect(after.leaseReply() == nil)
        withExtendedLifetime(afterCopy) {}
        await store.close()
    }

    @Test func `the replies of a fallback are sent after a restart, and the refused answer is a dead letter`()
        async throws
    {
        let problems = #"[{"rule":"outcome","pointer":"/outcome"}]"#
        let refused = RefusedAnswer(reason: "the answer was refused", problems: Array(problems.utf8))
        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array(#"{"id":"r1"}"#.utf8))
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.refused(refused), replies: [reply]))
        await store.journal.flush()
        let decidedCopy = try directory.copy()
        let decided = try decidedCopy.open()
        #expect(try await decided.lease().decided == DecidedOutcome(.refused(refused), replies: [reply]))
        await decided.close()
        withExtendedLifetime(decidedCopy) {}
        try await store.finish(delivery, result: .refused(refused))
        await store.close()
        let restarted = try directory.open()
        #expect(restarted.leaseReply()?.reply == reply)
        await restarted.close()
        let events = try JournalFiles(dataDirectory: directory.path).events { $0.isDeadLetter }
        #expect(events.map(\.reason) == ["the answer was refused"])
        #expect(events.first?.problems.map { String(decoding: $0.text, as: UTF8.self) } == problems)
        #expect(events.first?.replies == [.queued])
    }

    @Test(arguments: [ReplyResult.refused(status: 400, reason: "no"), .expired(reason: "late")])
    func
        `a reply that was refused or has expired is a dead letter, and is sent again with the same id and bytes`(
            _ result: ReplyResult
        ) async throws
    {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        let delivery = try await store.lease()
        let replies = ["r1", "r2"].map {
            DecidedReply(id: MessageID($0), kind: .text, message: Array(#"{"id":"\#($0)"}"#.utf8))
        }
        try await store.decide(delivery, DecidedOutcome(.handled, replies: replies))
        try await store.finish(delivery, result: .handled)
        let entry = try #require(store.leaseReply())
        #expect(entry.inReplyTo == MessageID("1"))
        #expect(entry.capabilityList == "QUICK,LIST")
        store.postpone(entry, after: .zero)
        let again = try #require(store.leaseReply())
        #expect(again.attempts == 1)
        try await store.settle(again, result)
        await store.journal.flush()
        let files = JournalFiles(dataDirectory: directory.path)
        let dead = try files.replies([again.id])
        #expect(dead.map(\.isDeadLetter) == [true])
        // Without an answer of the gateway, the last lease tried nothing.
        #expect(dead.map(\.attempts) == [result.httpStatus == nil ? 1 : 2])
        let event = try #require(try files.events([delivery.record]).first)
        #expect(event.status == .handled)
        #expect(event.replies == [dead[0].status, .queued])

        let retries = try await store.retry([again.id, again.id])
        #expect(retries.map(\.isRepetition) == [false])
        let retried = try #require(retries.first).record
        // A repeated retry sends nothing, and returns the record of the first retry; also after a restart.
        let repetition = [ReplayResult(of: again.id, as: retried, isRepetition: true)]
        #expect(try await store.retry([again.id]) == repetition)
        let repeatedCopy = try directory.copy()
        #expect(try await (try repeatedCopy.open()).retry([again.id]) == repetition)
        withExtendedLifetime(repeatedCopy) {}
        #expect(store.queuedReplyCount == 2)
        #expect(try files.replies([again.id]).map(\.status) == [.retried])
        let second = try #require(store.leaseReply())
        #expect(second.reply.id == MessageID("r2"))
        try await store.settle(second, .accepted(status: 200))
        let last = try #require(store.leaseReply())
        #expect(last.id == ReplyID(record: retried, index: 0))
        #expect(last.reply == replies[0])
        let restartedCopy = try directory.copy()
        let restarted = try restartedCopy.open()
        #expect(restarted.leaseReply()?.reply == replies[0])
        withExtendedLifetime(restartedCopy) {}
        try await store.settle(last, .accepted(status: 200))
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.outcome) == [nil, result.status.rawValue, "accepted", "accepted"])
        let verification = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(verification.problems == 0)
    }

    @Test func `a queued reply and a reply that is a dead letter are dropped, each once`() async throws {
        let store = try directory.open()
        for id in ["a", "b"] { #expect(await store.append(outbound(id)) == .stored) }
        let first = try #require(store.leaseReply())
        try await store.settle(first, .refused(status: 400, reason: "no"))
        let second = ReplyID(record: first.id.record + 1, index: 0)
        #expect(try await store.drop([first.id, second], reason: "an operator said so").isEmpty)
        #expect(store.leaseReply() == nil)
        let replies = try JournalFiles(dataDirectory: directory.path).replies([first.id, second])
        #expect(replies.map(\.status) == [.dropped, .dropped])
        #expect(try await store.drop([first.id, second], reason: "again") == [first.id, second])
        await store.close()
    }

    @Test func `a command that names several replies drops all of them or none`() async throws {
        let store = try directory.open()
        for id in ["a", "b", "c"] { #expect(await store.append(outbound(id)) == .stored) }
        let sent = try #require(store.leaseReply())
        let others = [1, 2].map { ReplyID(record: sent.id.record + $0, index: 0) }
        await #expect(throws: StoreError.beingSent(sent.id)) {
            _ = try await store.drop([others[0], sent.id, others[1]], reason: "no")
        }
        try await store.settle(sent, .accepted(status: 200))
        await #expect(throws: StoreError.replyNotDead(sent.id)) {
            _ = try await store.drop([others[0], sent.id], reason: "no")
        }
        #expect(store.leaseReply()?.id == others[0])
        await store.close()
    }

    @Test func `replies that are dead letters are kept when their segment is deleted`() async throws {
        let store = try directory.open {
            $0.maximumSegmentAge = .zero
            $0.deduplicationWindow = .zero
            $0.checkpointInterval = .seconds(3600)
        }
        #expect(await store.append(outbound("key")) == .stored)
        let entry = try #require(store.leaseReply())
        try await store.settle(entry, .refused(status: 413, reason: "too large"))
        for id in ["1", "2"] {
            #expect(await store.append(message(id)) == .stored)
            try await store.finish(try await store.lease(), result: .handled)
        }
        for _ in 1...3 { await store.retention.run() }
        #expect(try directory.records("message").allSatisfy { $0["id"]?.string != "key" })
        let files = JournalFiles(dataDirectory: directory.path)
        let carried = try #require(try files.replies([entry.id]).first)
        #expect((carried.status, carried.httpStatus, carried.reason) == (.refused, 413, "too large"))
        #expect(carried.message == outbound("key").message)
        _ = try await store.retry([entry.id])
        #expect(store.leaseReply()?.reply.id == MessageID("key"))
        #expect(try files.replies([entry.id]).map(\.status) == [.retried])
        await store.close()
    }

    private func decide(_ state: String?, in store: Store) async throws -> Delivery {
        let delivery = try await store.lease()
        try await store.decide(delivery, DecidedOutcome(.handled, state: state.map { Array($0.utf8) }))
        return delivery
    }

    private func state(in store: Store) async throws -> String? {
        try await store.state(of: business, customer).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a decision changes the handler's state, keeps it without a state, and deletes it with null`()
        async throws
    {
        let store = try directory.open()
        for id in 1...3 { #expect(await store.append(message("\(id)")) == .stored) }
        #expect(try await state(in: store) == nil)
        try await store.finish(try await decide("{\"step\":\n2}", in: store), result: .handled)
        #expect(try await state(in: store) == #"{"step": 2}"#)
        #expect(try await store.state(of: business, CustomerID("another")) == nil)
        try await store.finish(try await decide(nil, in: store), result: .handled)
        #expect(try await state(in: store) == #"{"step": 2}"#)
        try await store.finish(try await decide("null", in: store), result: .handled)
        #expect(try await state(in: store) == nil)
        await store.close()
        #expect(try await state(in: try directory.open()) == nil)
    }

    @Test func `a handler's state lost by a kill is restored when the delivery is leased again`() async throws
    {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        _ = try await decide(#"{"step":1}"#, in: store)
        let copy = try directory.copy()
        try removeStates(in: copy)
        let restarted = try copy.open()
        #expect(try await state(in: restarted) == nil)
        let delivery = try await restarted.lease()
        for _ in 1...2 { try await restarted.rememberDecision(of: delivery) }
        #expect(try await state(in: restarted) == #"{"step":1}"#)
    }

    @Test func `an older decision does not replace the handler's state of a newer decision`() async throws {
        let store = try directory.open()
        for id in 1...2 { #expect(await store.append(message("\(id)")) == .stored) }
        let first = try await decide(#"{"step":1}"#, in: store)
        store.postpone(first, after: .seconds(3600), parks: true)
        _ = try await decide(#"{"step":2}"#, in: store)
        let restartedCopy = try directory.copy()
        let restarted = try restartedCopy.open()
        try await restarted.rememberDecision(of: try await restarted.lease())
        #expect(try await state(in: restarted) == #"{"step":2}"#)
        withExtendedLifetime(restartedCopy) {}
        await store.close()
    }

    private func removeStates(in directory: StoreDirectory) throws {
        try #require(rename(directory.path + "/states", directory.path + "/elsewhere") == 0)
    }
}
