import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import Testing

/// Replays of messages, and the states of messages in the journal.
struct ReplayTests {
    let directory = StoreDirectory()

    private func status(of record: UInt64) throws -> JournalEvent.Status {
        try #require(JournalFiles(dataDirectory: directory.path).events([record]).first).status
    }

    /// Stores a message and lets it fail.
    private func fail(_ id: String, in store: Store) async throws -> UInt64 {
        #expect(await store.append(message(id)) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .failed(reason: "no use"))
        return delivery.record
    }

    @Test func `a retried dead letter is a new delivery, and no longer a dead letter`()
        async throws
    {
        let store = try directory.open()
        let record = try await fail("1", in: store)
        #expect(await store.append(message("2")) == .stored)
        let replay = try #require(try await store.replay([record]).first)
        #expect(try status(of: record) == .retried)
        #expect(try status(of: replay) == .pending)
        // The replay comes after the messages that arrived before the request.
        let second = try await store.lease()
        #expect(second.id == MessageID("2"))
        try await store.finish(second, result: .handled)
        let again = try await store.lease()
        #expect(again.record == replay)
        #expect(again.isReplay)
        #expect(again.id == MessageID("1"))
        #expect(again.text == String(decoding: message("1").message, as: UTF8.self))
        #expect(again.attributes == message("1").attributes)
        try await store.finish(again, result: .handled)
        await store.close()
        #expect(try status(of: replay) == .handled)
        // The replay adds no line, because the conversation has the message already.
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.record) == [record, second.record])
        #expect(await (try directory.open()).append(message("1")) == .duplicate)
    }

    @Test func `the line of a message is found in its conversation however old it is`() async throws {
        let store = try directory.open()
        // The conversation is longer than the megabyte that is read at once.
        for number in 1...40 {
            _ = await store.append(message("m\(number)", text: String(repeating: "a", count: 50_000)))
            try await store.finish(try await store.lease(), result: .handled)
        }
        for number in [1, 2, 20, 39, 40] {
            let line = try store.inboundLine(of: MessageID("m\(number)"), from: customer, to: business)
            #expect(line?.sequence == number)
        }
        #expect(try store.inboundLine(of: MessageID("m"), from: customer, to: business) == nil)
        #expect(try store.inboundLine(of: MessageID("m1"), from: CustomerID("other"), to: business) == nil)
    }

    @Test func `a replay survives a restart`() async throws {
        let store = try directory.open()
        let record = try await fail("1", in: store)
        let replays = [try await store.replay([record]), try await store.replay([record])].flatMap(\.self)
        let copy = try directory.copy()
        let restarted = try copy.open()
        let delivery = try await restarted.lease()
        #expect(delivery.record == replays.first)
        #expect(delivery.isReplay)
        #expect(restarted.statistics.pendingDeliveries == 2)
    }

    @Test func `a message with a resolved payload is replayed with the same payload`() async throws {
        let store = try directory.open()
        _ = await store.append(message("1", reference: true))
        let reference = try #require(await store.nextReference())
        try await store.resolve(reference, .resolved(message: Array(#"{"whole":true}"#.utf8)))
        try await store.finish(try await store.lease(), result: .rejected(reason: "no"))
        _ = try await store.replay([reference.record])
        #expect(try await store.lease().text == #"{"whole":true}"#)
    }

    @Test func `only finished messages are replayed, and only dead letters are dropped`() async throws {
        let store = try directory.open()
        let dead = try await fail("1", in: store)
        _ = await store.append(message("2"))
        let open = try await store.lease()
        await #expect(throws: StoreError.notFinished(record: open.record)) {
            try await store.replay([dead, open.record])
        }
        await #expect(throws: StoreError.unknownRecord(999)) { try await store.replay([dead, 999]) }
        await #expect(throws: StoreError.notDead(record: open.record)) {
            try await store.drop([dead, open.record])
        }
        #expect(try status(of: dead) == .failed)
        try await store.drop([dead])
        #expect(try status(of: dead) == .dropped)
        await #expect(throws: StoreError.notDead(record: dead)) { try await store.drop([dead]) }
        #expect(try await store.dropDead([dead]) == [dead])
        #expect(try directory.records("dropped").count == 1)
    }

    @Test func `a repeated command that names the same state of a message replays the message once`()
        async throws
    {
        let store = try directory.open()
        let dead = try await fail("1", in: store)
        let named = NamedState(record: dead, status: .failed, replay: nil)
        let first = try await store.replay([named])
        let replay = try #require(first.first?.record)
        #expect(first == [ReplayResult(of: dead, as: replay, isRepetition: false)])
        #expect(
            try await store.replay([named]) == [
                ReplayResult(of: dead, as: replay, isRepetition: true)
            ])
        #expect(store.statistics.pendingDeliveries == 1)
        // A command that names the current state replays the message once more.
        let again = try await store.replay([NamedState(record: dead, status: .retried, replay: replay)])
        #expect(again.first?.isRepetition == false)
        #expect(store.statistics.pendingDeliveries == 2)
        await #expect(throws: StoreError.changed(record: dead, now: .retried)) {
            _ = try await store.dropDead([dead])
        }
    }

    @Test func `one of two concurrent retries of a dead letter succeeds`() async throws {
        let store = try directory.open()
        let dead = try await fail("1", in: store)
        let named = NamedState(record: dead, status: .failed, replay: nil)
        async let left = store.replay([named])
        async let right = store.replay([named])
        let results = try await left + right
        #expect(results.filter(\.isRepetition).count == 1)
        #expect(Set(results.map(\.record)).count == 1)
        #expect(store.statistics.pendingDeliveries == 1)
    }

    @Test func `a dead letter that was dropped since its state was read is not retried`() async throws {
        let store = try directory.open()
        let dead = try await fail("1", in: store)
        try await store.drop([dead])
        await #expect(throws: StoreError.changed(record: dead, now: .dropped)) {
            try await store.replay([NamedState(record: dead, status: .failed, replay: nil)])
        }
        #expect(store.statistics.pendingDeliveries == 0)
    }

    @Test func `a message that a command names twice is replayed once`() async throws {
        let store = try directory.open()
        let records = [try await fail("1", in: store), try await fail("2", in: store)]
        let replays = try await store.replay([records[1], records[0], records[1]])
        #expect(replays.count == 2)
        #expect(store.statistics.pendingDeliveries == 2)
        let messages = try directory.records("message").filter { $0["replayOf"] != nil }
        #expect(messages.map { $0["replayOf"]?.int } == [records[1], records[0]].map { Int($0) })
        let third = try await fail("3", in: store)
        try await store.drop([third, third])
        #expect(try directory.records("dropped").count == 1)
    }

    @Test func `a command that names several messages replays or drops all of them or none`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        let records = [try await fail("1", in: store), try await fail("2", in: store)]
        // The append also syncs the records that ended both messages.
        _ = await store.append(message("3"))
        disk.fail(.synchronize)
        let failure = StoreError.notDurable(SystemError("fdatasync", code: 5))
        await #expect(throws: failure) { try await store.replay(records) }
        await #expect(throws: failure) { try await store.drop(records) }
        disk.recover()
        #expect(store.statistics.pendingDeliveries == 1)
        for record in records { #expect(try status(of: record) == .failed) }
        let replays = try await store.replay(records)
        let messages = try directory.records("message").filter { $0["replayOf"] != nil }
        #expect(messages.map { $0["replayOf"]?.int } == records.map { Int($0) })
        #expect(Set(messages.map { $0["batch"]?.int }).count == 1)
        #expect(replays.count == 2)
        #expect(store.statistics.pendingDeliveries == 3)
    }

    @Test func `reading the journal shows the state of each message`() async throws {
        let store = try directory.open()
        _ = try await fail("1", in: store)
        for id in ["2", "3", "4"] { _ = await store.append(message(id, from: CustomerID("c\(id)"))) }
        let parked = try await store.lease()
        store.postpone(parked, after: .seconds(3600), parks: true)
        try await store.finish(try await store.lease(), result: .rejected(reason: "not mine"))
        await store.close()
        let events = try JournalFiles(dataDirectory: directory.path).events { _ in true }
        #expect(events.map(\.status) == [.failed, .parked, .rejected, .pending])
        #expect(events.map(\.isDeadLetter) == [true, false, true, false])
        #expect(events.map(\.reason) == ["no use", nil, "not mine", nil])
        #expect(events[1].attempts == 1)
        #expect(events[1].next != nil)
        #expect(events[0].kind == .text)
    }
}
