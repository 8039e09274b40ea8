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

    @Test func `messages that another server took are stored all or none, whatever limits are reached`()
        async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open(recordingAs: nil) {
            $0.disk = disk
            $0.maximumPendingDeliveries = 1
        }
        #expect(store.limit(of: message("m1")) == nil)
        #expect(await store.append(message("m0")) == .stored)
        #expect(store.limit(of: message("m1")) == .tooManyPending(maximum: 1))
        let first = await store.take([message("m1"), message("m0"), message("m2"), message("m1")])
        #expect(first.count { $0 == .stored } == 2)
        #expect(first.count { $0 == .duplicate } == 2)
        #expect(await store.take([message("m0")]) == [.duplicate])
        disk.fail(.synchronize)
        for result in await store.take([message("m3"), message("m2"), message("m4")])
        where result != .duplicate {
            guard case .failed(.notDurable) = result else {
                Issue.record("\(result)")
                return
            }
        }
        disk.recover()
        #expect(await store.take([message("m3"), message("m4")]) == [.stored, .stored])
        let ids = try directory.records("message").map { $0["id"]?.string }
        #expect(ids == ["m0", "m1", "m2", "m3", "m4"])
        await store.close()
        #expect(await store.take([message("m5"), message("m0")]).contains(.failed(.closed)))
    }

    @Test func `a message is read from its record as it was`() throws {
        let attributes = ReceivedAttributes(capabilityList: "LIST", locale: "de_DE", intent: "billing")
        let original = ReceivedMessage(
            business: BusinessID("b\"1"), customer: CustomerID("urn:mbid:1"), id: MessageID("m"),
            attributes: attributes, message: Array(#"{"body":"ä\n\u2028"}"#.utf8), hasPayloadReference: true,
            act: .closes)
        let read = try #require(ReceivedMessage(record: original.record))
        #expect(
            (read.business, read.customer, read.id) == (original.business, original.customer, original.id))
        #expect((read.attributes, read.message) == (attributes, original.message))
        #expect((read.hasPayloadReference, read.act, read.receivedAt) == (true, .closes, original.receivedAt))
        let resolved = try #require(read.resolved(.resolved(message: Array("{}".utf8))))
        #expect((resolved.message, resolved.hasPayloadReference) == (Array("{}".utf8), false))
        #expect(read.resolved(.failed(reason: "")) == nil)
        for foreign in ["", "{}", #"{"type":"message","id":"m"}"#] {
            #expect(ReceivedMessage(record: Array(foreign.utf8)) == nil)
        }
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

extension Store {
    /// Stores messages that another server took; returns the results in the order in which they came.
    fileprivate func take(_ messages: [ReceivedMessage]) async -> [AppendResult] {
        let (results, result) = AsyncStream.makeStream(of: AppendResult.self)
        append(taken: messages) { result.yield($0) }
        var all: [AppendResult] = []
        for await one in results {
            all.append(one)
            if all.count == messages.count { break }
        }
        return all
    }
}
