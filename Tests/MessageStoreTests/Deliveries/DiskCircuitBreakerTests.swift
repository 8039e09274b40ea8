import BalloonPOSIX
import BusinessMessages
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// The pauses of deliveries after disk failures.
struct DiskCircuitBreakerTests {
    let directory = StoreDirectory()

    private func append(_ count: Int, to store: Store) async {
        for number in 1...count {
            _ = await store.append(message("\(number)", from: CustomerID("c\(number)")))
        }
    }

    /// Whether a task that waits for a delivery gets none, however often others run meanwhile.
    private func leasesNothing(_ store: Store) async -> Bool {
        await withTaskGroup(of: Delivery?.self) { group in
            group.addTask { await store.nextDelivery(for: business) }
            group.addTask {
                for _ in 0..<1000 { await Task.yield() }
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first == nil
        }
    }

    private func leasedCount(_ store: Store) -> Int {
        store.scheduler.all.filter(\.pending.recording.isDone).filter {
            store.scheduler.leased($0.pending.record, of: $0.conversation) != nil
        }.count
    }

    @Test func `no delivery is leased while journal writes fail, and all are leased afterwards`() async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        await append(3, to: store)
        disk.fail(.synchronize)
        #expect(await store.append(message("x")) != .stored)
        #expect(store.scheduler.holds == .journal)
        #expect(await leasesNothing(store))
        async let deliveries = (store.nextDelivery(for: business), store.nextDelivery(for: business))
        disk.recover()
        #expect(await store.append(message("4")) == .stored)
        #expect(store.scheduler.holds.isEmpty)
        let (first, second) = await deliveries
        #expect(Set([first?.id, second?.id]).count == 2)
        #expect(try await store.lease().attempt == 1)
        let lines = directory.log.lines
        #expect(lines.count { $0.hasPrefix("error disk write failed; deliveries paused") } == 1)
        #expect(lines.count { $0.hasPrefix("notice disk writes succeed again") } == 1)
        await store.close()
    }

    @Test func `no delivery is leased while another server may have taken the store, and the log says why`()
        async throws
    {
        let store = try directory.open()
        await append(1, to: store)
        for _ in 1...2 { store.record(isOwner: false) }
        #expect(store.scheduler.holds == .ownership)
        #expect(store.isOwnerInDoubt)
        #expect(await leasesNothing(store))
        for _ in 1...2 { store.record(isOwner: true) }
        #expect(store.scheduler.holds.isEmpty)
        #expect(try await store.lease().attempt == 1)
        let lines = directory.log.lines
        #expect(lines.count { $0.hasPrefix("error deliveries paused until the store's") } == 1)
        #expect(lines.count { $0.hasPrefix("notice deliveries resumed; the store's database answers") } == 1)
        #expect(!lines.contains { $0.contains("disk") })
        await store.close()
    }

    @Test func `when the disk is full for conversation lines, deliveries are paused until a line is written`()
        async throws
    {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(2, to: store)
        let first = try await store.lease()
        disk.code.withLock { $0 = ENOSPC }
        _ = await store.append(message("3", from: CustomerID("c3")))
        await directory.log.first { $0.contains("deliveries paused") }
        #expect(store.scheduler.holds == .conversations)
        #expect(await leasesNothing(store))
        async let second = store.nextDelivery(for: business)
        disk.code.withLock { $0 = nil }
        // The record stage retries by itself.
        let ids = [first.id, await second?.id, try await store.lease().id]
        #expect(Set(ids) == [MessageID("1"), MessageID("2"), MessageID("3")])
        #expect(store.scheduler.holds.isEmpty)
        #expect(directory.log.lines.count { $0.hasPrefix("error disk write failed") } == 1)
        try await store.finish(first, result: .handled)
        await store.close()
    }

    @Test func `one delivery at a time probes whether conversations can be written`() async throws {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(3, to: store)
        // All messages are recorded by then, so that only deliveries write lines.
        let first = try await store.lease()
        while store.scheduler.all.count(where: \.pending.recording.isDone) < 3 { await Task.yield() }
        disk.code.withLock { $0 = EROFS }
        await #expect(throws: StoreError.self) {
            try await store.recordResults(first, files: [.failed(reason: "gone")])
        }
        #expect(store.release(first) != nil)
        #expect(store.scheduler.holds == .conversations)
        // Deliveries of different conversations come in any order; each probe leases another one.
        var probed: Set<MessageID> = []
        for number in 2...3 {
            async let probe = store.nextDelivery(for: business)
            // Repeat until the task above waits: only a waiting task can be given a probe.
            while leasedCount(store) < number - 1 {
                #expect(store.scheduler.probe())
                await Task.yield()
            }
            let delivery = try #require(await probe)
            #expect(probed.insert(delivery.id).inserted)
            #expect(await leasesNothing(store))
            if number == 3 { disk.code.withLock { $0 = nil } }
            let files: [RecordedFile] = [.failed(reason: "gone")]
            if number == 2 {
                await #expect(throws: StoreError.self) {
                    try await store.recordResults(delivery, files: files)
                }
            } else {
                try await store.recordResults(delivery, files: files)
            }
        }
        #expect(store.scheduler.holds.isEmpty)
        #expect(directory.log.lines.count { $0.hasPrefix("error disk write failed") } == 1)
        await store.close()
    }

    @Test func `a failed write that began before the last successful write pauses no delivery`() async throws
    {
        let store = try directory.open()
        let (gate, earlier) = (store.gate, store.gate.resumptionCount)
        let full = StoreError.unavailable(path: "c", SystemError("write", code: ENOSPC))
        gate.recordFailure(full, since: gate.resumptionCount)
        #expect(store.scheduler.holds == .conversations)
        gate.recordWrite()
        gate.recordFailure(full, since: earlier)
        #expect(store.scheduler.holds.isEmpty)
        #expect(directory.log.lines.count { $0.hasPrefix("error disk write failed") } == 1)
        gate.recordFailure(full, since: gate.resumptionCount)
        #expect(store.scheduler.holds == .conversations)
        await store.close()
    }

    @Test func `an error of one conversation's file delays no other conversation`() async throws {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        disk.code.withLock { $0 = EIO }
        await append(1, to: store)
        await directory.log.first { $0.contains("a conversation's line could not be written") }
        #expect(store.scheduler.holds.isEmpty)
        disk.code.withLock { $0 = nil }
        _ = await store.append(message("2", from: CustomerID("c2")))
        // The first conversation waits for its retry, the second one for nothing.
        #expect(try await store.lease().id == MessageID("2"))
        await store.close()
    }

    @Test func `a checkpoint covers an ended reply only after its line is written`()
        async throws
    {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(1, to: store)
        let delivery = try await store.lease()
        let reply = DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.finish(delivery, result: .handled)
        let entry = try #require(store.leaseReply())
        disk.code.withLock { $0 = ENOSPC }
        await #expect(throws: StoreError.self) { try await store.settle(entry, .accepted(status: 200)) }
        await store.journal.flush()
        let ended = try #require(try directory.records("reply").first?["record"]?.int)
        #expect(store.unwrittenLines.checkpoint(through: .max) < UInt64(ended))
        disk.code.withLock { $0 = nil }
        try await store.settle(entry, .accepted(status: 200))
        #expect(store.unwrittenLines.checkpoint(through: .max) == .max)
        #expect(try directory.records("reply").count == 1)
        await store.checkpointer.run()
        await store.close()
        let result = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect((result.problems, result.lines) == (0, 2))
    }
}

/// A disk that temporarily refuses lines of conversations.
private final class FullConversations: StoreDisk {
    let code = Mutex<Int32?>(nil)
    private let disk = SystemDisk()

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        if let code = code.withLock({ $0 }) { throw SystemError("write", code: code) }
        try disk.append(bytes, to: file)
    }

    func synchronize(_ file: File) throws(SystemError) { try disk.synchronize(file) }
}
