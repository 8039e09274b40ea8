import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// A run of a store is recorded, with each call to its disk.
///
/// For each call, the test assumes a power failure after it, and a store that opens the remaining data must
/// keep every promise made until then.
struct PowerLossTests {
    /// The fate of unsynced writes.
    enum Luck: Sendable, CaseIterable {
        case nothingReachedTheDisk, everythingDid, some
    }

    @Test(arguments: Luck.allCases)
    func `a power failure after any call to the disk breaks no promise that the store has made`(_ luck: Luck)
        async throws
    {
        let directory = StoreDirectory()
        let disk = RecordingDisk()
        try await run(directory, disk)
        let calls = disk.calls
        #expect(calls.count > 60)
        var power = PowerLoss()
        var promises: Set<RecordingDisk.Promise> = []
        var random = SeededGenerator(seed: 1)
        var last: (image: [String: [UInt8]], promises: Int)?
        for (count, call) in calls.enumerated() {
            power.apply(call)
            if case .promise(let promise) = call {
                promises.insert(promise)
                continue
            }
            let image = power.image {
                switch luck {
                case .nothingReachedTheDisk: false
                case .everythingDid: true
                case .some: Bool.random(using: &random)
                }
            }
            if let last, last.image == image, last.promises == promises.count { continue }
            last = (image, promises.count)
            try await check(image, of: directory, promises, "after call \(count + 1), \(call)")
        }
        #expect(promises.count > 10)
    }

    /// Runs a store through three conversations, replies, a failed sync, checkpoints, new segments and the deletion
    /// of old ones.
    private func run(_ directory: StoreDirectory, _ disk: RecordingDisk) async throws {
        let store = try directory.open {
            $0.disk = disk
            $0.maximumSegmentBytes = 1800
            $0.preparedBytes = 1200
            $0.deduplicationWindow = .zero
            $0.checkpointInterval = .seconds(3600)
            $0.lazyDelay = .seconds(3600)
        }
        for number in 1...6 {
            let id = "m\(number)"
            // The message is longer than a block, so that single blocks of its line can be lost.
            let received = message(
                id, from: CustomerID("c\(number % 3)"), text: String(repeating: "x", count: 300))
            if number == 4 {
                disk.failNextSync()
                #expect(await store.append(received) != .stored)
            }
            #expect(await store.append(received) == .stored)
            disk.note(.acknowledged(id))
            if number == 5 { continue }
            try await handle(try await store.lease(), in: store, disk)
            if number % 3 == 0 { await store.checkpointer.run() }
            if number == 6 { await store.retention.run() }
        }
        await store.close()
    }

    private func handle(
        _ delivery: Delivery, in store: Store, _ disk: RecordingDisk? = nil
    ) async throws {
        let id = delivery.id.rawValue
        if delivery.decided == nil { try await store.decide(delivery, outcome(id)) }
        disk?.note(.decided(id))
        try await store.finish(delivery, result: .handled)
        if let reply = store.leaseReply(of: business, delivery.customer) {
            try await store.settle(reply, .accepted(status: 200))
        }
        disk?.note(.accepted(id))
    }

    private func outcome(_ id: String) -> DecidedOutcome {
        DecidedOutcome(
            .handled,
            replies: [DecidedReply(id: MessageID("r-" + id), kind: .text, message: Array("{}".utf8))])
    }

    private func check(
        _ image: [String: [UInt8]], of original: StoreDirectory, _ promises: Set<RecordingDisk.Promise>,
        _ moment: String
    ) async throws {
        let directory = StoreDirectory()
        var image = image
        image[original.path + "/VERSION"] = Array("1\n".utf8)
        for (path, bytes) in image {
            let copy = directory.path + path.dropFirst(original.path.count)
            try Directory.make(Directory.parent(of: copy))
            try File(copy, for: .overwriting).write(bytes, at: 0)
        }
        let store: Store
        do {
            store = try directory.open {
                $0.lazyDelay = .seconds(3600)
                $0.disk = UnsyncedDisk()
            }
        } catch {
            Issue.record("\(error) \(moment)")
            return
        }
        while store.statistics.pendingDeliveries > 0 {
            let delivery = try await store.lease()
            let id = delivery.id.rawValue
            if promises.contains(.decided(id)) {
                #expect(delivery.decided == outcome(id), "decided twice \(moment)")
            }
            try await handle(delivery, in: store)
        }
        while let reply = store.leaseReply() {
            let id = String(reply.reply.id.rawValue.dropFirst(2))
            #expect(!promises.contains(.accepted(id)), "sent twice \(moment)")
            try await store.settle(reply, .accepted(status: 200))
        }
        #expect(store.statistics.quarantinedConversations == 0, "\(moment)")
        await store.close()
        var ids: [String] = []
        let files = ConversationFiles(dataDirectory: directory.path)
        for summary in try files.list() {
            ids += try files.lines(of: summary.business, summary.customer).map(\.id.rawValue)
        }
        #expect(Set(ids).count == ids.count, "twice in a conversation \(moment)")
        for case .acknowledged(let id) in promises {
            #expect(ids.contains(id), "\(id) is lost \(moment)")
            #expect(ids.contains("r-" + id), "the reply to \(id) is lost \(moment)")
        }
        _ = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0) \(moment)") }
    }
}

/// A disk whose syncs return without waiting.
private struct UnsyncedDisk: StoreDisk {
    func create(_ path: String) throws(SystemError) -> File { try File(path, for: .creating) }
    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try file.append(bytes) }
    func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {}
    func synchronize(_ file: File) throws(SystemError) {}
    func synchronizeDirectory(_ path: String) throws(SystemError) {}
    func synchronizeFileSystem(of path: String) throws(SystemError) {}
}
