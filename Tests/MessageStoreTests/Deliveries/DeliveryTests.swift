import BusinessMessages
import Glibc
import TestSupport
import Testing

@testable import MessageStore

struct DeliveryTests {
    let directory = StoreDirectory()
    let anna = CustomerID("urn:mbid:anna")
    let bert = CustomerID("urn:mbid:bert")

    @Test func `a conversation leases one delivery at a time in order, and delays no other conversation`()
        async throws
    {
        let store = try directory.open()
        for number in 1...3 { _ = await store.append(message("a\(number)", from: anna)) }
        for number in 1...2 { _ = await store.append(message("b\(number)", from: bert)) }
        // Conversations are recorded at the same time, so either may be ready first.
        let first = try await [store.lease(), store.lease()].sorted { $0.id.rawValue < $1.id.rawValue }
        let (a1, b1) = (first[0], first[1])
        #expect(first.map(\.id) == [MessageID("a1"), MessageID("b1")])
        // Both conversations have a leased delivery, so nothing can be leased until one of these ends.
        async let next = store.lease()
        try await store.finish(a1, result: .handled)
        let a2 = try await next
        #expect(a2.id == MessageID("a2"))
        try await store.finish(b1, result: .handled)
        #expect(try await store.lease().id == MessageID("b2"))
        try await store.finish(a2, result: .handled)
        #expect(try await store.lease().id == MessageID("a3"))
        #expect(store.statistics.pendingDeliveries == 2)
    }

    @Test func `the same customer of two businesses has two conversations`() async throws {
        let store = try directory.open()
        _ = await store.append(message("1", from: anna, to: BusinessID("x")))
        _ = await store.append(message("2", from: anna, to: BusinessID("y")))
        #expect(try await store.lease(BusinessID("y")).id == MessageID("2"))
        #expect(try await store.lease(BusinessID("x")).id == MessageID("1"))
    }

    @Test func `a postponed delivery stays first and is leased again with the next attempt`() async throws {
        let store = try directory.open()
        _ = await store.append(message("a1", from: anna))
        _ = await store.append(message("a2", from: anna))
        let first = try await store.lease()
        store.postpone(first, after: .milliseconds(5))
        let second = try await store.lease()
        #expect(second.id == first.id)
        #expect(second.attempt == 2)
        store.postpone(second, after: .zero)
        let third = try await store.lease()
        #expect(third.attempt == 3)
        try await store.finish(third, result: .handled)
        #expect(try await store.lease().id == MessageID("a2"))
    }

    @Test func `the attempts of a delivery are counted across restarts`() async throws {
        let store = try directory.open()
        _ = await store.append(message("a1", from: anna))
        store.postpone(try await store.lease(), after: .zero)
        store.postpone(try await store.lease(), after: .seconds(3600))
        await store.close()
        #expect(try directory.records("attempt").compactMap { $0["attempt"]?.int } == [1, 2])
        #expect(try await directory.open().lease().attempt == 3)
    }

    @Test func `callers that wait for a delivery get the next messages`() async throws {
        let store = try directory.open()
        let waiters = (1...3).map { _ in Task { try await store.lease().id.rawValue } }
        for number in 1...3 { _ = await store.append(message("m\(number)", from: CustomerID("c\(number)"))) }
        var ids: [String] = []
        for waiter in waiters { ids.append(try await waiter.value) }
        #expect(ids.sorted() == ["m1", "m2", "m3"])
    }

    @Test func `a cancelled task leases nothing`() async throws {
        let store = try directory.open()
        let waiter = Task { await store.nextDelivery(for: business)?.id }
        waiter.cancel()
        #expect(await waiter.value == nil)
        let reference = Task { await store.nextReference()?.id }
        reference.cancel()
        #expect(await reference.value == nil)
        _ = await store.append(message("m1", reference: true))
        #expect(await store.nextReference()?.id == MessageID("m1"))
    }

    @Test func `closing the store resumes all callers that wait for a delivery`() async throws {
        let store = try directory.open()
        let waiters = (1...3).map { _ in Task { await store.nextDelivery(for: business)?.id } }
        let reference = Task { await store.nextReference()?.id }
        await store.close()
        for waiter in waiters { #expect(await waiter.value == nil) }
        #expect(await reference.value == nil)
        #expect(await store.nextDelivery(for: business) == nil)
        #expect(await store.nextReference() == nil)
    }

    @Test func `a delivery that is not leased cannot be changed`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
        let error = StoreError.notLeased(record: delivery.record)
        await #expect(throws: error) { try await store.finish(delivery, result: .handled) }
        await #expect(throws: error) { try await store.decide(delivery, DecidedOutcome(.handled)) }
        // The calls have no lease to release, and no waiter to resume.
        store.postpone(delivery, after: .zero)
        #expect(store.statistics.pendingDeliveries == 0)
    }

    @Test func `an outcome and the replies settled so far are known after the process was killed`()
        async throws
    {
        let store = try directory.open(recordingAs: .quickReply)
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        let replies = (1...3).map {
            DecidedReply(
                id: MessageID("r\($0)"), kind: .text, message: Array("{\"id\":\"r\($0)\",\"n\": 1.0}".utf8))
        }
        let outcome = DecidedOutcome(.handedOff(reason: "asked for a person"), replies: replies)
        try await store.decide(delivery, outcome)
        try await store.settleReply(0, of: delivery, .accepted(status: 200))
        try await store.settleReply(2, of: delivery, .refused(status: 400, reason: "malformed"))

        let copy = try directory.copy()
        let reopened = try copy.open()
        let again = try await reopened.lease()
        #expect(again.decided == outcome)
        try await reopened.finish(again, result: .handedOff(reason: "asked for a person"))
        // Only the unfinished reply is left.
        let left = try #require(reopened.leaseReply())
        #expect(left.reply == replies[1])
        #expect(left.isRecovered)
        try await reopened.settle(left, .expired(reason: "timeout"))
        #expect(reopened.leaseReply() == nil)
        await reopened.close()
        let lines = try ConversationFiles(dataDirectory: copy.path).lines(of: business, customer)
        #expect(lines.map(\.id.rawValue) == ["m1", "r1", "r3", "r2"])
        #expect(lines.map(\.outcome) == [nil, "accepted", "refused", "expired"])
        #expect(lines.map(\.status) == [nil, 200, 400, nil])
        #expect(try copy.open().statistics.pendingDeliveries == 0)
    }

    @Test func `a decided outcome is known to the next attempt, and its reply is queued once`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        let reply = DecidedReply(id: MessageID("r1"), kind: .text, message: Array("{}".utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.settleReply(0, of: delivery, .accepted(status: 202))
        store.postpone(delivery, after: .zero)
        let again = try await store.lease()
        #expect(again.decided?.replies == [reply])
        #expect(store.leaseReply() == nil)
        #expect(try directory.records("reply").count == 1)
    }
}

/// Messages whose lines in the journal are temporarily unreadable.
struct UnreadableOnceTests {
    let directory = StoreDirectory()

    /// Moves the journal's file away, or restores it.
    private func move(_ isAway: Bool, _ store: Store) throws {
        let (file, elsewhere) = (directory.journal + "/000000000001.jsonl", directory.path + "/elsewhere")
        try #require(rename(isAway ? file : elsewhere, isAway ? elsewhere : file) == 0)
        store.reader.remove(firstRecord: 1)
    }

    private func bringBack(_ store: Store) async throws {
        await directory.log.first { $0.contains("journalled message is unreadable") }
        try move(false, store)
        try #require(store.scheduler.counts.unreadable == 0)
    }

    @Test func `a temporarily unreadable message is delivered in order, with its first attempt`() async throws
    {
        let store = try directory.open { $0.maximumCachedBytes = 0 }
        for id in ["1", "2"] { _ = await store.append(message(id)) }
        try move(true, store)
        async let leased = store.lease()
        try await bringBack(store)
        let delivery = try await leased
        #expect((delivery.id, delivery.attempt) == (MessageID("1"), 1))
        // Each message is logged once, by the step that first failed to read it.
        for record in [2, 3] {
            let lines = directory.log.lines.filter {
                $0.contains("a journalled message cannot be read") && $0.contains("record=\(record)")
            }
            #expect(lines.count <= 1, "\(lines)")
        }
        await store.close()
    }

    @Test func `a temporarily unreadable reference is resolved later`() async throws {
        let store = try directory.open { $0.maximumCachedBytes = 0 }
        _ = await store.append(message("1", reference: true))
        try move(true, store)
        async let reference = store.nextReference()
        try await bringBack(store)
        #expect(await reference?.id == MessageID("1"))
        await store.close()
    }

    @Test func `a cached proactive message is sent even when the journal is unreadable`() async throws {
        let store = try directory.open { $0.maximumCachedBytes = 0 }
        let outbound = ReceivedMessage(
            business: business, customer: customer, id: MessageID("1"), message: Array("{}".utf8),
            outboundKind: .text)
        _ = await store.append(outbound)
        try move(true, store)
        // A cached text is sent without the journal; after a restart the journal is needed.
        #expect(store.leaseReply()?.reply.id == MessageID("1"))
        try move(false, store)
        await store.close()
    }
}
