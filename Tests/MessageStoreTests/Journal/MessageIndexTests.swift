import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// The deduplication window, at times that the test chooses instead of a clock.
struct MessageIndexTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func key(_ number: Int) -> MessageKey {
        MessageKey(business: BusinessID("b"), id: MessageID("\(number)"))
    }

    private func claim(_ index: inout MessageIndex, _ number: Int, after hours: Int) -> MessageIndex.Claim {
        let claim = index.claim(key(number), at: start.advanced(by: .seconds(hours * 3600))) { _ in }
        if claim == .absent { _ = index.store(key(number), record: UInt64(number)) }
        return claim
    }

    @Test func `a message is known for the whole deduplication window and forgotten some time later`() {
        var index = MessageIndex()
        for hours in 0..<72 { #expect(claim(&index, hours + 1, after: hours) == .absent) }
        #expect(claim(&index, 1, after: 72) == .durable)
        #expect(claim(&index, 72, after: 72 + 71) == .durable)
        #expect(claim(&index, 1, after: 400) == .absent)
    }

    @Test func `the index remembers the latest messages, up to its maximum number`() {
        var index = MessageIndex(maximumCount: 400)
        for number in 1...10_000 { #expect(claim(&index, number, after: 0) == .absent) }
        #expect(index.count <= 400)
        #expect(claim(&index, 10_000, after: 0) == .durable)
        #expect(claim(&index, 9_701, after: 0) == .durable)
        #expect(claim(&index, 1, after: 0) == .absent)
    }

    @Test func `a message that waits for its sync is found after the index has started a new generation`() {
        var index = MessageIndex()
        #expect(index.claim(key(1), at: start) { _ in } == .absent)
        #expect(claim(&index, 2, after: 30) == .absent)
        #expect(index.claim(key(1), at: start) { _ in } == .waiting)
        #expect(index.store(key(1), record: 1)?.count == 1)
        #expect(claim(&index, 1, after: 30) == .durable)
        #expect(index.count == 2)
    }

    @Test func `messages that were moved to files are known as before, also after a start from the snapshot`()
        throws
    {
        let folder = TemporaryDirectory()
        var index = MessageIndex(maximumCount: 40_000, folder: folder.path)
        for number in 1...35_000 { #expect(claim(&index, number, after: 0) == .absent) }
        // Of the generations of 10,000 messages, the third has a record after the snapshot, and the fourth gets more messages.
        let files = try index.moveToFiles(through: 29_000)
        #expect(files.count == 2 && index.count == 35_000 && index.countInMemory == 15_000)
        var bytes = SnapshotEncoder()
        index.encode(to: &bytes, through: 29_000)
        var restored = MessageIndex(maximumCount: 40_000, folder: folder.path)
        var decoder = try SnapshotDecoder(bytes.finish())
        try restored.decode(from: &decoder)
        #expect(decoder.isAtEnd)
        #expect(restored.count == 29_000 && restored.countInMemory == 9_000)
        for number in 1...35_000 {
            #expect(index.record(of: key(number)) == UInt64(number))
            #expect(restored.record(of: key(number)) == (number <= 29_000 ? UInt64(number) : nil))
        }
        for number in 35_001...36_000 { #expect(!index.knows(key(number)) && !restored.knows(key(number))) }
        // A whole generation is dropped for the next one.
        for number in 35_001...45_000 { #expect(claim(&index, number, after: 0) == .absent) }
        #expect(index.files.map(\.name) == ["000000000002"])
        #expect(!index.knows(key(1)) && index.knows(key(10_001)))
    }

    @Test func `a snapshot whose file of known messages is missing or damaged is not used`() throws {
        let folder = TemporaryDirectory()
        var index = MessageIndex(maximumCount: 400, folder: folder.path)
        for number in 1...350 { #expect(claim(&index, number, after: 0) == .absent) }
        let files = try index.moveToFiles(through: 350)
        var bytes = SnapshotEncoder()
        index.encode(to: &bytes, through: 350)
        let snapshot = bytes.finish()
        let path = folder.path + "/" + (try #require(files.values.first).name)
        let whole = try File(path, for: .reading).readAll()
        func isUsed() throws -> Bool {
            var restored = MessageIndex(maximumCount: 400, folder: folder.path)
            var decoder = try SnapshotDecoder(snapshot)
            return (try? restored.decode(from: &decoder)) != nil
        }
        #expect(try isUsed())
        for length in stride(from: 0, to: whole.count, by: 100) {
            try AtomicFile.write(Array(whole.prefix(length)), to: path)
            #expect(try !isUsed(), "cut at \(length)")
        }
        try Directory.remove(path)
        #expect(try !isUsed())
    }

    @Test func `an unreadable page has no messages, and is reported once`() throws {
        let folder = TemporaryDirectory()
        var table = MessageTable()
        for number in 1...1000 { _ = table.insert(key(number), record: UInt64(number)) }
        let written = try KnownMessages.write(table, number: 7, in: folder.path)
        #expect((1...1000).allSatisfy { written.record(of: key($0)) == UInt64($0) })
        #expect(!written.takeUnreadable())
        #expect(written.lastRecord == 1000)
        let path = folder.path + "/" + written.name
        let file = try File(path, for: .overwriting)
        try file.write([0xFF, 0xFF], at: 3 * 4096 + 100)
        let known = try #require(KnownMessages(number: 7, count: 1000, in: folder.path))
        let lost = (1...1000).count { known.record(of: key($0)) == nil }
        #expect(lost == 170)
        #expect(known.takeUnreadable())
        #expect(!known.takeUnreadable())
        #expect(KnownMessages(number: 7, count: 1001, in: folder.path) == nil)
    }

    @Test func `a jump of the clock does not empty the index`() {
        var index = MessageIndex()
        #expect(claim(&index, 1, after: 0) == .absent)
        #expect(claim(&index, 2, after: 100_000) == .absent)
        #expect(claim(&index, 1, after: 100_001) == .durable)
        #expect(claim(&index, 2, after: 1) == .durable)
    }
}

/// The deduplication window across a restart.
struct WindowRecoveryTests {
    @Test func `a copy is recognized by a file, also after a restart, and files of no snapshot are removed`()
        async throws
    {
        let directory = StoreDirectory()
        let change = { @Sendable (configuration: inout StoreConfiguration) in
            configuration.maximumRememberedMessages = 40
            configuration.snapshotInterval = 1
        }
        let folder = directory.path + "/known-messages"
        let store = try directory.open(change)
        for number in 0..<35 { #expect(await store.append(message("\(number)")) == .stored) }
        await store.checkpointer.run(isDue: true)
        let names = ["000000000001", "000000000002", "000000000003"]
        #expect(try Directory.names(in: folder).sorted() == names)
        for number in 0..<35 { #expect(await store.append(message("\(number)")) == .duplicate) }
        #expect(await store.append(message("35")) == .stored)
        await store.close()
        try AtomicFile.write([1], to: folder + "/000000000009")
        let restarted = try directory.open(change)
        #expect(try Directory.names(in: folder).sorted() == names)
        for number in 0..<36 { #expect(await restarted.append(message("\(number)")) == .duplicate) }
        // Without the snapshot, the whole journal is read, and the files are written anew.
        await restarted.close()
        try Directory.remove(directory.path + "/snapshot")
        let again = try directory.open(change)
        for number in 0..<36 { #expect(await again.append(message("\(number)")) == .duplicate) }
        await again.close()
        #expect(try Directory.names(in: folder).sorted() == names)
    }

    @Test func `a copy that was accepted after the index forgot the first one is delivered after a restart`()
        async throws
    {
        let directory = StoreDirectory()
        let store = try directory.open { $0.maximumRememberedMessages = 8 }
        #expect(await store.append(message("a")) == .stored)
        try await store.finish(try await store.lease(), result: .handled)
        for number in 0..<8 {
            #expect(await store.append(message("\(number)")) == .stored)
            try await store.finish(try await store.lease(), result: .handled)
        }
        #expect(await store.append(message("a")) == .stored)
        await store.close()
        // The new process remembers more messages, and finds both.
        let restarted = try directory.open()
        #expect(restarted.statistics.pendingDeliveries == 1)
        #expect(try await restarted.lease().id == MessageID("a"))
    }
}
