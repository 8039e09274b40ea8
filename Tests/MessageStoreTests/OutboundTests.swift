import BalloonJSON
import BusinessMessages
import Glibc
import MessageStore
import Testing

/// Messages that answer no event, and what handlers remember.
struct OutboundTests {
    let directory = StoreDirectory()

    private func outbound(_ id: String) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array(#"{"id":"\#(id)","type":"text","body":"Your bread is ready"}"#.utf8),
            outboundKind: .text)
    }

    @Test func `a message that answers no event keeps its place, is decided, and has one line`() async throws
    {
        let store = try directory.open()
        #expect(await store.append(message("1")) == .stored)
        #expect(await store.append(outbound("key")) == .stored)
        #expect(await store.append(outbound("key")) == .duplicate)
        let first = try await store.lease()
        #expect(first.outboundKind == nil)
        try await store.finish(first, result: .handled)
        let second = try await store.lease()
        #expect(second.outboundKind == .text)
        let reply = try #require(second.decided?.replies.first)
        #expect(reply.id == MessageID("key"))
        #expect(reply.message == second.message)
        try await store.recordInbound(second, kind: .text, message: second.message)
        try await store.recordReply(second, index: 0, result: .accepted(status: 200))
        try await store.finish(second, result: .handled)
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.direction) == [.outbound])
        #expect(lines.map(\.id) == [MessageID("key")])
        #expect(await (try directory.open()).append(outbound("key")) == .duplicate)
    }

    @Test func `a message that answers no event survives a restart, and is not sent twice`() async throws {
        let store = try directory.open()
        #expect(await store.append(outbound("key")) == .stored)
        let before = try await directory.copy().open().lease()
        #expect(before.outboundKind == .text)
        #expect(before.decided?.replies.count == 1)
        let delivery = try await store.lease()
        try await store.recordReply(delivery, index: 0, result: .accepted(status: 200))
        let after = try await directory.copy().open().lease()
        #expect(after.replyResults == [0: .accepted(status: 200)])
        await store.close()
    }

    @Test func `a message that went out can be handed over again, as what it was`() async throws {
        let store = try directory.open()
        #expect(await store.append(outbound("key")) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .failed(reason: "no answer"))
        _ = try await store.replay([delivery.record])
        let again = try await store.lease()
        #expect(again.outboundKind == .text)
        #expect(again.decided?.replies.count == 1)
        await store.close()
        let events = try JournalFiles(dataDirectory: directory.path).events { _ in true }
        #expect(events.map(\.kind) == [.text, .text])
    }

    private func decide(_ state: String?, in store: Store) async throws -> Delivery {
        let delivery = try await store.lease()
        try await store.recordInbound(delivery, kind: .text, message: delivery.message)
        try await store.decide(delivery, DecidedOutcome(.handled, state: state.map { Array($0.utf8) }))
        return delivery
    }

    private func state(in store: Store) async throws -> String? {
        try await store.state(of: business, customer).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a state changes with the decision, stays otherwise, and is forgotten with null`() async throws
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

    @Test func `a state that a kill took away comes back with the delivery`() async throws {
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

    @Test func `an older decision that is read back does not win`() async throws {
        let store = try directory.open()
        for id in 1...2 { #expect(await store.append(message("\(id)")) == .stored) }
        let first = try await decide(#"{"step":1}"#, in: store)
        store.postpone(first, after: .seconds(3600), parks: true)
        _ = try await decide(#"{"step":2}"#, in: store)
        let restarted = try directory.copy().open()
        try await restarted.rememberDecision(of: try await restarted.lease())
        #expect(try await state(in: restarted) == #"{"step":2}"#)
        await store.close()
    }

    private func removeStates(in directory: StoreDirectory) throws {
        try #require(rename(directory.path + "/states", directory.path + "/elsewhere") == 0)
    }
}
