import BusinessMessages
import Dispatch
import MessageStore
import Testing

struct DeduplicationTests {
    let directory = StoreDirectory()

    @Test func `a copy of a durable message is answered as a duplicate at once`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("m1")) == .stored)
        let slot = AnswerSlot()
        store.append(message("m1", text: "other")) { slot.set($0) }
        // Nothing was awaited since, so the answer arrived on this thread.
        #expect(slot.value == .duplicate)
        #expect(try directory.records("message").count == 1)
    }

    @Test func `the same id for another business is another message`() async throws {
        let store = try directory.open()
        #expect(await store.append(message("m1", to: BusinessID("a"))) == .stored)
        #expect(await store.append(message("m1", to: BusinessID("b"))) == .stored)
        // The same characters, split differently between business and id, are another message.
        #expect(await store.append(message("b1m", to: BusinessID("a"))) == .stored)
        #expect(await store.append(message("1m", to: BusinessID("ab"))) == .stored)
        #expect(await store.append(message("m", to: BusinessID("ab1"))) == .stored)
        #expect(store.statistics.indexedMessages == 5)
    }

    @Test func `a copy of a message that waits for its sync is answered after the same sync`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open(recordingAs: nil) { $0.disk = disk }
        disk.hold()
        let first = AnswerSlot()
        let twins = (0..<3).map { _ in AnswerSlot() }
        store.append(message("m1")) { first.set($0) }
        for twin in twins { store.append(message("m1")) { twin.set($0) } }
        #expect(first.value == nil)
        #expect(twins.allSatisfy { $0.value == nil })
        disk.release()
        #expect(await first.answer() == .stored)
        for twin in twins { #expect(await twin.answer() == .duplicate) }
        #expect(try directory.records("message").count == 1)
        #expect(store.statistics.pendingDeliveries == 1)
    }

    @Test(arguments: FaultyDisk.Fault.allCases)
    func `a failed write is reported to all senders that wait, and their next attempt is stored`(
        fault: FaultyDisk.Fault
    )
        async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open(recordingAs: nil) { $0.disk = disk }
        // A failing creation has an effect only when no segment exists yet.
        if fault != .create, fault != .name { #expect(await store.append(message("m0")) == .stored) }
        disk.fail(fault)
        disk.hold()
        let slots = (0..<4).map { _ in AnswerSlot() }
        for slot in slots { store.append(message("m1")) { slot.set($0) } }
        disk.release()
        for slot in slots {
            guard case .failed(.notDurable) = await slot.answer() else {
                Issue.record("not told")
                return
            }
        }
        #expect(store.statistics.lastSyncFailure != nil)
        #expect(store.statistics.waitingBytes == 0)
        disk.recover()
        #expect(await store.append(message("m1")) == .stored)
        #expect(await store.append(message("m1")) == .duplicate)
        #expect(store.statistics.lastSyncFailure == nil)
    }

    @Test func `ten thousand messages from eight threads, each sent twice, are stored once`() async throws {
        let store = try directory.open { $0.maximumSegmentBytes = 300_000 }
        let tally = Tally(expected: 20_000)
        for thread in 0..<8 {
            DispatchQueue(label: "thread \(thread)").async {
                for number in 0..<2500 {
                    // Every id is sent by two threads.
                    let id = "m\(number * 4 + thread / 2)"
                    store.append(message(id, from: CustomerID("urn:mbid:\(number % 100)"))) {
                        tally.count($0)
                    }
                }
            }
        }
        let answers = await tally.answers()
        #expect(answers == [.stored: 10_000, .duplicate: 10_000])
        let ids = try directory.records("message").compactMap { $0["id"]?.string }
        #expect(ids.count == 10_000)
        #expect(Set(ids).count == 10_000)
        await store.close()
        #expect(try directory.open().statistics.pendingDeliveries == 10_000)
    }

    @Test func `a message over the limit of unfinished messages is refused until one is finished`()
        async throws
    {
        let store = try directory.open { $0.maximumPendingDeliveries = 2 }
        for id in ["m1", "m2"] { #expect(await store.append(message(id)) == .stored) }
        #expect(await store.append(message("m3")) == .failed(.tooManyPending(maximum: 2)))
        #expect(await store.append(message("m1")) == .duplicate)
        try await store.finish(try await store.lease(), result: .handled)
        #expect(await store.append(message("m3")) == .stored)
        await store.close()
        let reopened = try directory.open { $0.maximumPendingDeliveries = 2 }
        #expect(await reopened.append(message("m4")) == .failed(.tooManyPending(maximum: 2)))
    }

    @Test(arguments: [MessageAuthor.handler, .program])
    func `a handler or program is refused while as many of its messages as the quota wait to be sent`(
        _ author: MessageAuthor
    ) async throws {
        let store = try directory.open()
        store.limitPending([business: 2], others: 9)
        func send(_ id: String, by author: MessageAuthor) async -> AppendResult {
            await store.append(
                ReceivedMessage(
                    business: business, customer: CustomerID("c"), id: MessageID(id),
                    message: Array("{}".utf8),
                    outboundKind: .text, author: author))
        }
        for id in ["r1", "r2"] { #expect(await send(id, by: author) == .stored) }
        #expect(await send("r3", by: author) == .failed(.quotaReached(maximum: 2)))
        #expect(await send("r1", by: author) == .duplicate)
        // A person and the server are not refused, and neither are messages of customers.
        #expect(await send("p", by: .person(nil)) == .stored)
        #expect(await send("s", by: .server) == .stored)
        #expect(await store.append(message("m1")) == .stored)
        for _ in 0..<3 {
            try await store.settle(try #require(store.leaseReply()), .accepted(status: 200))
        }
        #expect(await send("r3", by: author) == .stored)
        await store.close()
    }

    @Test func `only a business over its quota is refused, until one of its messages is finished`()
        async throws
    {
        let store = try directory.open()
        store.limitPending([business: 2], others: 1)
        let other = BusinessID("another")
        for id in ["m1", "m2"] { #expect(await store.append(message(id)) == .stored) }
        #expect(await store.append(message("m3")) == .failed(.quotaReached(maximum: 2)))
        #expect(await store.append(message("m1")) == .duplicate)
        #expect(await store.append(message("m1", to: other)) == .stored)
        #expect(await store.append(message("m2", to: other)) == .failed(.quotaReached(maximum: 1)))
        try await store.finish(try await store.lease(), result: .handled)
        #expect(await store.append(message("m3")) == .stored)
        #expect(await store.append(message("m4")) == .failed(.quotaReached(maximum: 2)))
        store.limitPending([business: 3], others: 2)
        #expect(await store.append(message("m4")) == .stored)
        #expect(await store.append(message("m2", to: other)) == .stored)
        store.limitPending([business: 1], others: 9)
        #expect(await store.append(message("m5")) == .failed(.quotaReached(maximum: 1)))
        #expect(await store.append(message("m3", to: other)) == .stored)
        await store.close()
        let reopened = try directory.open()
        reopened.limitPending([business: 3], others: 4)
        #expect(await reopened.append(message("m5")) == .failed(.quotaReached(maximum: 3)))
        #expect(await reopened.append(message("m4", to: other)) == .stored)
        await reopened.close()
    }

    @Test func `a message over the limit of waiting bytes is refused at once, and accepted after the sync`()
        async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open {
            $0.disk = disk
            $0.maximumWaitingBytes = 2000
        }
        disk.hold()
        let big = String(repeating: "x", count: 1500)
        let first = AnswerSlot()
        let second = AnswerSlot()
        store.append(message("m1", text: big)) { first.set($0) }
        store.append(message("m2", text: big)) { second.set($0) }
        #expect(second.value == .failed(.overloaded))
        #expect(store.statistics.waitingBytes > 1500)
        disk.release()
        #expect(await first.answer() == .stored)
        #expect(store.statistics.waitingBytes == 0)
        #expect(await store.append(message("m2", text: big)) == .stored)
    }

    @Test func `a closed store accepts no message`() async throws {
        let store = try directory.open()
        await store.close()
        #expect(await store.append(message("m1")) == .failed(.closed))
        #expect(try directory.segments().isEmpty)
    }
}
