import BalloonPOSIX
import BusinessMessages
import MessageStore
import Testing

/// Messages that end without a handler.
struct EndingTests {
    let directory = StoreDirectory()

    private func status(_ record: UInt64) throws -> JournalEvent.Status? {
        try JournalFiles(dataDirectory: directory.path).events([record]).first?.status
    }

    @Test func `a dropped message is skipped, and the next of its conversation is leased`() async throws {
        let store = try directory.open()
        for id in ["m1", "m2", "m3"] { _ = await store.append(message(id)) }
        let events = try JournalFiles(dataDirectory: directory.path).events { _ in true }
        let records = events.map(\.record)
        #expect(try await store.dropPending([records[0]], reason: "no reason") == [])
        #expect(try status(records[0]) == .dropped)
        #expect(store.statistics.pendingDeliveries == 2)
        let second = try await store.lease()
        #expect(second.id == MessageID("m2"))
        #expect(second.isAfterGap)
        // The dropped message comes after a leased one.
        #expect(try await store.dropPending([records[2]], reason: "no reason") == [])
        try await store.finish(second, result: .handled)
        #expect(store.statistics.pendingDeliveries == 0)
        await store.close()
        #expect(try directory.open().statistics.pendingDeliveries == 0)
        #expect(
            try JournalFiles(dataDirectory: directory.path).events([records[0]]).first?.reason == "no reason")
    }

    @Test func `a repeated drop changes nothing, and an invalid one is refused as a whole`() async throws {
        let store = try directory.open()
        for id in ["m1", "m2"] { _ = await store.append(message(id, from: CustomerID(id))) }
        let leased = try await store.lease()
        let other = try #require(
            try JournalFiles(dataDirectory: directory.path).events { $0.record != leased.record }.first
        ).record
        await #expect(throws: StoreError.notFinished(record: leased.record)) {
            try await store.dropPending([other, leased.record], reason: "no reason")
        }
        #expect(store.statistics.pendingDeliveries == 2)
        try await store.finish(leased, result: .handled)
        await #expect(throws: StoreError.notPending(record: leased.record)) {
            try await store.dropPending([other, leased.record], reason: "no reason")
        }
        await #expect(throws: StoreError.unknownRecord(999)) {
            try await store.dropPending([999], reason: "no reason")
        }
        #expect(try await store.dropPending([other, other], reason: "no reason") == [])
        #expect(try await store.dropPending([other], reason: "no reason") == [other])
        #expect(try directory.records("finished").count == 2)
    }

    @Test
    func `a leased message is dropped while it waits for its handler, and not once the handler is called`()
        async throws
    {
        let store = try directory.open()
        for id in ["m1", "m2"] { _ = await store.append(message(id)) }
        let first = try await store.lease()
        store.beginWaitingForHandler(first)
        #expect(try await store.dropPending([first.record], reason: "no reason") == [])
        #expect(try status(first.record) == .dropped)
        // The handler is up again: it must not get the message.
        #expect(!store.beginCall(first))
        let second = try await store.lease()
        #expect(second.id == MessageID("m2"))
        store.beginWaitingForHandler(second)
        #expect(store.beginCall(second))
        await #expect(throws: StoreError.notFinished(record: second.record)) {
            try await store.dropPending([second.record], reason: "no reason")
        }
    }

    @Test func `a leased message of a removed business can be dropped, and its conversation continues`()
        async throws
    {
        let store = try directory.open()
        for id in ["m1", "m2"] { _ = await store.append(message(id)) }
        let leased = try await store.lease()
        #expect(
            try await store.dropPending([leased.record], reason: "no reason", isServed: { $0 != business })
                == [])
        #expect(try status(leased.record) == .dropped)
        await #expect(throws: StoreError.notLeased(record: leased.record)) {
            try await store.finish(leased, result: .handled)
        }
        let next = try await store.lease()
        #expect(next.id == MessageID("m2"))
        try await store.finish(next, result: .handled)
    }

    @Test func `parked, postponed and unresolved messages can be dropped`() async throws {
        let store = try directory.open()
        for id in ["parked", "postponed", "referring"] {
            _ = await store.append(message(id, from: CustomerID(id), reference: id == "referring"))
        }
        for _ in 0..<2 {
            let delivery = try await store.lease()
            store.postpone(delivery, after: .seconds(3600), parks: delivery.id == MessageID("parked"))
        }
        let events = try JournalFiles(dataDirectory: directory.path).events { _ in true }
        #expect(try await store.dropPending(events.map(\.record), reason: "no reason") == [])
        #expect(store.statistics.pendingDeliveries == 0)
        #expect(store.statistics.parkedDeliveries == 0)
        await store.close()
        #expect(try directory.open().statistics.pendingDeliveries == 0)
    }

    @Test func `messages of a removed business become dead letters when the latest is old`() async throws {
        let store = try directory.open()
        let gone = BusinessID("gone")
        let recent = BusinessID("recent")
        let now = Timestamp.now()
        let old = now.advanced(by: .seconds(-8 * 86_400))
        func append(_ id: String, to business: BusinessID, at: Timestamp) async {
            await withCheckedContinuation { stored in
                store.append(
                    ReceivedMessage(
                        business: business, customer: customer, id: MessageID(id), message: Array("{}".utf8),
                        receivedAt: at)
                ) { _ in stored.resume() }
            }
        }
        for id in ["m1", "m2"] { await append(id, to: gone, at: old) }
        await append("m1", to: recent, at: old)
        await append("m2", to: recent, at: now)
        await append("m1", to: business, at: old)
        // A worker that waits for its handler has leased the first message.
        let leased = try #require(await store.nextDelivery(for: gone))
        let count = try await store.endPending(
            of: [gone, recent], olderThan: .seconds(7 * 86_400), reason: "the business was removed")
        #expect(count == 2)
        let dead = try JournalFiles(dataDirectory: directory.path).events { $0.isDeadLetter }
        #expect(dead.map(\.business) == [gone, gone])
        #expect(dead.map(\.reason) == ["the business was removed", "the business was removed"])
        await #expect(throws: StoreError.notLeased(record: leased.record)) {
            try await store.finish(leased, result: .handled)
        }
        #expect(store.statistics.pendingDeliveries == 3)
    }
}
