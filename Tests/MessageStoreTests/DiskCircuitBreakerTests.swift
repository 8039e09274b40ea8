import BalloonPOSIX
import BusinessMessages
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// When deliveries are handed out, and when the disk says that none is.
struct DiskCircuitBreakerTests {
    let directory = StoreDirectory()

    private func append(_ count: Int, to store: Store) async {
        for number in 1...count {
            _ = await store.append(message("\(number)", from: CustomerID("c\(number)")))
        }
    }

    private func record(_ delivery: Delivery, in store: Store) async throws {
        try await store.recordInbound(delivery, kind: .text, message: delivery.message)
    }

    @Test func `while the journal fails nothing is handed out, and all is when it is well`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        await append(3, to: store)
        disk.fail(.synchronize)
        #expect(await store.append(message("x")) != .stored)
        #expect(store.scheduler.withQueues { $0.holds } == .journal)
        async let deliveries = (store.nextDelivery(for: business), store.nextDelivery(for: business))
        disk.recover()
        #expect(await store.append(message("4")) == .stored)
        #expect(store.scheduler.withQueues { $0.holds }.isEmpty)
        let (first, second) = await deliveries
        #expect(Set([first?.id, second?.id]).count == 2)
        #expect(try await store.lease().attempt == 1)
        let lines = directory.log.lines
        #expect(lines.count { $0.hasPrefix("error the disk takes nothing; deliveries wait") } == 1)
        #expect(lines.count { $0.hasPrefix("notice the disk takes records again") } == 1)
        await store.close()
    }

    @Test func `a full disk for conversations holds until a line is written`() async throws {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(4, to: store)
        let first = try await store.lease()
        let second = try await store.lease()
        disk.code.withLock { $0 = ENOSPC }
        for delivery in [first, second] {
            await #expect(throws: StoreError.self) { try await record(delivery, in: store) }
        }
        #expect(store.giveBack(first) == .seconds(1))
        #expect(store.scheduler.withQueues { $0.holds } == .conversations)
        async let third = store.nextDelivery(for: business)
        disk.code.withLock { $0 = nil }
        try await record(second, in: store)
        #expect(await third?.id == MessageID("3"))
        #expect(store.scheduler.withQueues { $0.holds }.isEmpty)
        #expect(directory.log.lines.count { $0.hasPrefix("error") } == 2)
        await store.close()
    }

    @Test func `one delivery at a time finds out whether conversations can be written`() async throws {
        let disk = FullConversations()
        let store = try directory.open {
            $0.disk = disk
            $0.probeInterval = .milliseconds(1)
        }
        await append(5, to: store)
        disk.code.withLock { $0 = EROFS }
        for number in 1...3 {
            let delivery = try await store.lease()
            #expect(delivery.id == MessageID("\(number)"))
            await #expect(throws: StoreError.self) { try await record(delivery, in: store) }
            _ = store.giveBack(delivery)
        }
        disk.code.withLock { $0 = nil }
        let probe = try await store.lease()
        try await record(probe, in: store)
        #expect(store.scheduler.withQueues { $0.holds }.isEmpty)
        #expect(Set([probe.id, try await store.lease().id]) == [MessageID("4"), MessageID("5")])
        #expect(directory.log.lines.count { $0.contains("the disk takes nothing") } == 1)
        await store.close()
    }

    @Test func `one file's own trouble holds up no other conversation`() async throws {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(2, to: store)
        let first = try await store.lease()
        disk.code.withLock { $0 = EIO }
        await #expect(throws: StoreError.self) { try await record(first, in: store) }
        #expect(store.scheduler.withQueues { $0.holds }.isEmpty)
        #expect(try await store.lease().id == MessageID("2"))
        await store.close()
    }

    @Test func `the line of a message that was refused to the end is written from the journal`() async throws
    {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(1, to: store)
        disk.code.withLock { $0 = EIO }
        let delivery = try await store.lease()
        await #expect(throws: StoreError.self) { try await record(delivery, in: store) }
        store.postpone(delivery, after: .zero)
        try await store.finish(try await store.lease(), result: .failed(reason: "its file is refused"))
        await store.checkpointer.run()
        await store.close()
        let result = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect((result.problems, result.lines) == (0, 1))
    }

    @Test func `no checkpoint covers a delivery that ended without its reply's line until the line is there`()
        async throws
    {
        let disk = FullConversations()
        let store = try directory.open { $0.disk = disk }
        await append(1, to: store)
        let delivery = try await store.lease()
        try await record(delivery, in: store)
        let reply = DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        disk.code.withLock { $0 = EIO }
        await #expect(throws: StoreError.self) {
            try await store.recordReply(delivery, index: 0, result: .accepted(status: 200))
        }
        try await store.finish(delivery, result: .failed(reason: "its file is refused"))
        await store.checkpointer.run()
        await store.close()
        let result = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect((result.problems, result.lines) == (0, 2))
    }
}

/// A disk that takes no lines of conversations at times.
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
