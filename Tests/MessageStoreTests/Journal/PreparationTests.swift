import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// The preallocation of segments with line feeds.
struct PreparationTests {
    let directory = StoreDirectory()
    private let first = "000000000001.jsonl"

    private func bytes(_ name: String, in directory: StoreDirectory) throws -> [UInt8] {
        try File(directory.journal + "/" + name, for: .reading).readAll()
    }

    @Test func `a segment is preallocated, overwritten by batches, and truncated when the store closes`()
        async throws
    {
        let store = try directory.open { $0.preparedBytes = 8192 }
        #expect(await store.append(message("m1")) == .stored)
        await store.journal.flush()
        await store.journal.rest()
        let prepared = try bytes(first, in: directory)
        #expect(prepared.count > 8192)
        #expect(prepared.suffix(8192).allSatisfy { $0 == UInt8(ascii: "\n") })
        #expect(await store.append(message("m2")) == .stored)
        await store.journal.flush()
        await store.journal.rest()
        let written = try bytes(first, in: directory)
        #expect(written.count == prepared.count)
        #expect(written != prepared)
        await store.close()
        let closed = try bytes(first, in: directory)
        #expect(closed.count < written.count)
        #expect(closed.suffix(2) != [10, 10])
        let reopened = try directory.open()
        #expect(await reopened.append(message("m1")) == .duplicate)
        #expect(await reopened.append(message("m2")) == .duplicate)
        await reopened.close()
    }

    @Test func `the preallocation of a killed process is truncated at the next start`() async throws {
        let store = try directory.open { $0.preparedBytes = 8192 }
        #expect(await store.append(message("m1")) == .stored)
        await store.journal.flush()
        await store.journal.rest()
        let copy = try directory.copy()
        let killed = try bytes(first, in: copy)
        let reopened = try copy.open()
        let cut = try bytes(first, in: copy)
        #expect(killed.count - cut.count == 8192)
        #expect(cut == Array(killed.prefix(cut.count)))
        #expect(await reopened.append(message("m1")) == .duplicate)
        await reopened.close()
        await store.close()
    }

    @Test func `a failed preallocation ends the segment and loses no record, even when truncating fails too`()
        async throws
    {
        let disk = FaultyDisk()
        disk.failFills()
        let store = try directory.open {
            $0.disk = disk
            $0.preparedBytes = 8192
        }
        #expect(await store.append(message("m1")) == .stored)
        await store.journal.flush()
        await store.journal.rest()
        let sound = try bytes(first, in: directory)
        #expect(await store.append(message("m2")) == .stored)
        await store.journal.flush()
        await store.journal.rest()
        #expect(store.statistics.lastSyncFailure == nil)
        #expect(try directory.segments().count == 2)
        #expect(try directory.records("abandoned").count == 1)
        let copy = try directory.copy()
        try copy.write(sound + [UInt8](repeating: 0, count: 8192), to: first)
        let reopened = try copy.open()
        #expect(await reopened.append(message("m1")) == .duplicate)
        #expect(await reopened.append(message("m2")) == .duplicate)
        await reopened.close()
        await store.close()
    }
}
