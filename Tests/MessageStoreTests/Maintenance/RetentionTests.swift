import BalloonPOSIX
import BusinessMessages
import Glibc
import Testing

@testable import MessageStore

/// The deletion of journal segments, and the reasons to keep them.
struct RetentionTests {
    let directory = StoreDirectory()

    /// Opens a store in which every batch starts a segment; without `window`, it has no deduplication window.
    private func open(window: Duration = .zero) throws -> Store {
        try directory.open {
            $0.maximumSegmentAge = .zero
            $0.deduplicationWindow = window
            $0.checkpointInterval = .seconds(3600)
        }
    }

    /// Stores a message, which starts a segment; returns the segment's name.
    private func store(_ id: String, in store: Store) async throws -> String {
        #expect(await store.append(message(id, from: CustomerID("c-\(id)"))) == .stored)
        return try #require(try directory.segments().last)
    }

    private func finish(
        _ delivery: Delivery, _ result: DeliveryResult = .handled, in store: Store
    ) async throws {
        try await store.finish(delivery, result: result)
        await store.journal.flush()
    }

    @Test func `a segment is deleted when all its messages are finished, checkpointed and old enough`()
        async throws
    {
        let store = try open()
        let first = try await self.store("1", in: store)
        let second = try await self.store("2", in: store)
        try await finish(try await store.lease(), in: store)
        await store.retention.run()
        // The round made the checkpoint that was missing.
        #expect(try !directory.segments().contains(first))
        #expect(try directory.segments().contains(second))
        try await finish(try await store.lease(), in: store)
        await store.retention.run()
        #expect(try !directory.segments().contains(second))
        await store.close()
        let restarted = try open()
        #expect(restarted.statistics.pendingDeliveries == 0)
        #expect(try directory.records("message").isEmpty)
    }

    @Test(arguments: ["unfinished", "parked", "referenced"])
    func `an unfinished message keeps its segment and all later segments`(_ holder: String) async throws {
        let store = try open()
        let held: String
        if holder == "referenced" {
            #expect(await store.append(message("1", from: CustomerID("c-1"), reference: true)) == .stored)
            held = try #require(try directory.segments().last)
        } else {
            held = try await self.store("1", in: store)
            let delivery = try await store.lease()
            if holder == "parked" { store.postpone(delivery, after: .seconds(3600), parks: true) }
        }
        let second = try await self.store("2", in: store)
        try await finish(try await store.lease(), in: store)
        await store.retention.run()
        #expect(try directory.segments().starts(with: [held]))
        #expect(try directory.segments().contains(second))
    }

    @Test func `a segment whose conversations are not on disk is kept`() async throws {
        let store = try open()
        let first = try await self.store("1", in: store)
        let delivery = try await store.lease()
        try await finish(delivery, in: store)
        _ = try await self.store("2", in: store)
        // No checkpoint succeeds while the file cannot be rewritten.
        let path = directory.path + "/conversations/" + ConversationFixture.path(business, delivery.customer)
        let obstacle = "\(path).\(getpid()).new"
        try Directory.make(obstacle)
        store.checkpointer.distrust(StoreError.closed)
        await store.retention.run()
        #expect(try directory.segments().contains(first))
        await store.close()
        rmdir(obstacle)
        let restarted = try open()
        await restarted.retention.run()
        #expect(try !directory.segments().contains(first))
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(
            of: business, delivery.customer)
        #expect(lines.map(\.id) == [MessageID("1")])
    }

    @Test
    func `a segment within the deduplication window is kept, and its messages are known after a restart`()
        async throws
    {
        let store = try open(window: .seconds(3600))
        let first = try await self.store("1", in: store)
        try await finish(try await store.lease(), in: store)
        _ = try await self.store("2", in: store)
        try await finish(try await store.lease(), in: store)
        await store.retention.run()
        #expect(try directory.segments().contains(first))
        await store.close()
        let restarted = try open(window: .seconds(3600))
        await restarted.retention.run()
        #expect(await restarted.append(message("1", from: CustomerID("c-1"))) == .duplicate)
        #expect(await restarted.append(message("2", from: CustomerID("c-2"))) == .duplicate)
    }

    @Test func `record numbers continue after all segments were deleted`() async throws {
        let store = try open()
        _ = try await self.store("1", in: store)
        let delivery = try await store.lease()
        try await finish(delivery, in: store)
        for _ in 1...3 { await store.retention.run() }
        await store.close()
        let restarted = try open()
        await restarted.retention.run()
        _ = try await self.store("2", in: restarted)
        #expect(try await restarted.lease().record > delivery.record + 2)
    }

    @Test func `an idle server deletes old segments without a new message`() async throws {
        let store = try open()
        let only = try await self.store("1", in: store)
        try await finish(try await store.lease(), in: store)
        for _ in 1...3 { await store.retention.run() }
        #expect(try !directory.segments().contains(only))
        // An idle journal does not grow.
        let files = try directory.segments()
        for _ in 1...5 { await store.retention.run() }
        #expect(try directory.segments().count <= files.count)
    }

    @Test func `a dead letter is kept when its segment is deleted, and can be retried`() async throws {
        let store = try open()
        #expect(await store.append(message("1", reference: true)) == .stored)
        let first = try #require(try directory.segments().last)
        let reference = try #require(await store.nextReference())
        try await store.resolve(reference, .resolved(message: Array(#"{"whole":true}"#.utf8)))
        let delivery = try await store.lease()
        try await finish(delivery, .failed(reason: "no use"), in: store)
        _ = try await self.store("2", in: store)
        for _ in 1...3 { await store.retention.run() }
        #expect(try !directory.segments().contains(first))
        await store.close()

        let restarted = try open()
        let files = JournalFiles(dataDirectory: directory.path)
        let dead = try files.events { $0.isDeadLetter }
        #expect(dead.map(\.record) == [delivery.record])
        #expect(dead.map(\.reason) == ["no use"])
        #expect(dead.map(\.kind) == [.text])
        #expect(dead.map(\.attributes) == [message("1").attributes])
        #expect(dead.first.map { $0.at.milliseconds } == delivery.receivedAt.milliseconds)
        // The dead letter is copied to a newer segment as often as necessary.
        for _ in 1...3 { await restarted.retention.run() }
        // The other conversation's message is then ready first.
        await restarted.rest()
        let replay = try await restarted.replay([delivery.record])
        #expect(try await restarted.lease().id == MessageID("2"))
        let again = try await restarted.lease()
        #expect(again.record == replay.first)
        #expect(again.text == #"{"whole":true}"#)
        try await restarted.finish(again, result: .handled)
        #expect(try files.events { $0.isDeadLetter }.isEmpty)
        await restarted.close()
        #expect(try files.events { $0.isDeadLetter }.isEmpty)
    }

    @Test func `a dropped dead letter is not copied to a newer segment`() async throws {
        let store = try open()
        _ = try await self.store("1", in: store)
        let delivery = try await store.lease()
        try await finish(delivery, .rejected(reason: "no"), in: store)
        _ = try await self.store("2", in: store)
        await store.retention.run()
        let files = JournalFiles(dataDirectory: directory.path)
        #expect(try files.events([delivery.record]).map(\.status) == [.rejected])
        try await store.drop([delivery.record])
        #expect(try files.events([delivery.record]).map(\.status) == [.dropped])
        try await finish(try await store.lease(), in: store)
        for _ in 1...4 { await store.retention.run() }
        #expect(throws: StoreError.unknownRecord(delivery.record)) { try files.events([delivery.record]) }
    }

    @Test func `a crash between copying dead letters and deleting their segment loses none`() async throws {
        let store = try open()
        _ = try await self.store("1", in: store)
        let delivery = try await store.lease()
        try await finish(delivery, .failed(reason: "no use"), in: store)
        _ = try await self.store("2", in: store)
        let before = try directory.copy()
        await store.retention.run()
        // The copy has all earlier files and the new records.
        let crashed = try directory.copy()
        for name in try before.segments() where !Directory.exists(crashed.journal + "/" + name) {
            try AtomicFile.write(
                File(before.journal + "/" + name, for: .reading).readAll(), to: crashed.journal + "/" + name)
        }
        let restarted = try crashed.open { $0.deduplicationWindow = .zero }
        let files = JournalFiles(dataDirectory: crashed.path)
        #expect(try files.events { $0.isDeadLetter }.map(\.record) == [delivery.record])
        #expect(restarted.statistics.pendingDeliveries == 1)
        await restarted.retention.run()
        #expect(try files.events { $0.isDeadLetter }.map(\.record) == [delivery.record])
    }
}

/// The reasons to keep segments, without a disk.
struct SegmentLedgerTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)
    private func hours(_ count: Int) -> Timestamp { start.advanced(by: .seconds(count * 3600)) }
    private let window = Duration.seconds(72 * 3600)

    private func ledger(_ times: [Int]) -> SegmentLedger {
        var ledger = SegmentLedger()
        for (index, time) in times.enumerated() { ledger.begin(UInt64(index * 10 + 1), at: hours(time)) }
        return ledger
    }

    @Test func `the last segment is never deleted`() {
        #expect(ledger([0]).expired(at: hours(1000), window: window).isEmpty)
        #expect(ledger([0, 1]).expired(at: hours(1000), window: window).map(\.first) == [1])
    }

    @Test func `a segment is as old as the youngest segment up to it, even after the clock was set back`() {
        // The second segment was written with a clock a hundred hours behind.
        let ledger = ledger([100, 0, 101])
        #expect(ledger.expired(at: hours(150), window: window).isEmpty)
        #expect(ledger.expired(at: hours(173), window: window).map(\.first) == [1, 11])
    }

    @Test func `a clock that ran ahead keeps segments longer, never shorter`() {
        let ledger = ledger([0, 500, 1])
        #expect(ledger.expired(at: hours(100), window: window).map(\.first) == [1])
    }

    @Test func `a clock that ran years ahead keeps segments for at most the window after the next start`() {
        var ledger = SegmentLedger()
        ledger.begin(1, at: Timestamp(rfc3339: "2099-01-01T00:00:00.000Z"))
        ledger.begin(11, at: nil)
        var journal = JournalState()
        journal.ledger = ledger
        let state = CurrentState(journal)
        let soon = state.now.advanced(by: window - .seconds(60))
        let later = state.now.advanced(by: window + .seconds(60))
        #expect(state.withState { $0.ledger.expired(at: soon, window: window).isEmpty })
        #expect(state.withState { $0.ledger.expired(at: later, window: window).map(\.first) } == [1])
    }

    @Test func `an open delivery, a missing checkpoint or a young age alone keeps a segment`() {
        var ledger = ledger([0, 1, 200])
        ledger.recordOpen(1, in: 1)
        #expect(ledger.expired(at: hours(100), window: window).isEmpty)
        ledger.recordEnd(in: 1, deadLetter: nil, of: business, by: 12)
        #expect(ledger.expired(at: hours(100), window: window).isEmpty)
        #expect(ledger.awaitsCheckpoint(at: hours(100), window: window))
        ledger.recordCheckpoint(through: 11)
        #expect(ledger.expired(at: hours(100), window: window).isEmpty)
        ledger.recordCheckpoint(through: 12)
        #expect(ledger.expired(at: hours(71), window: window).isEmpty)
        #expect(ledger.expired(at: hours(100), window: window).map(\.first) == [1, 11])
    }

    @Test func `the ledger knows the segment of each dead letter until an operator decides about it`() {
        var ledger = ledger([0, 1, 200])
        for record: UInt64 in [3, 2] {
            ledger.recordOpen(1, in: 1)
            ledger.recordEnd(in: 1, deadLetter: DeadLetter(record, reply: nil), of: business, by: 12)
        }
        ledger.recordCheckpoint(through: 12)
        let expired = ledger.expired(at: hours(100), window: window)
        #expect(ledger.deadLetters(in: expired).map(\.record) == [2, 3])
        ledger.recordDecision(about: DeadLetter(2, reply: nil))
        #expect(ledger.deadLetters[DeadLetter(3, reply: nil)]?.segment == 1)
        ledger.recordDeadLetter(DeadLetter(3, reply: nil), of: business, in: 21)
        #expect(ledger.deadLetters(in: expired).isEmpty)
        #expect(ledger.deadLetters.mapValues(\.segment) == [DeadLetter(3, reply: nil): 21])
        #expect(ledger.deadLetterCounts == [business: 1])
        ledger.recordDecision(about: DeadLetter(3, reply: nil))
        ledger.recordDecision(about: DeadLetter(3, reply: nil))
        #expect(ledger.deadLetterCounts.isEmpty)
    }
}
