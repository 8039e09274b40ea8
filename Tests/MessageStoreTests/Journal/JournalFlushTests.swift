import BalloonPOSIX
import MessageStore
import Synchronization
import Testing

@testable import MessageStore

/// A disk that calls a hook in each sync of the journal, with the number of the sync.
private final class HookedDisk: StoreDisk {
    private let disk = SystemDisk()
    private let hook = Mutex<(@Sendable (Int) -> Void)?>(nil)
    private let syncs = Mutex(0)

    var count: Int { syncs.withLock { $0 } }

    /// Sets the hook; it runs before the sync ends.
    func onSync(_ hook: @escaping @Sendable (Int) -> Void) { self.hook.withLock { $0 = hook } }

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }
    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }

    func synchronize(_ file: File) throws(SystemError) {
        let number = syncs.withLock { syncs in
            syncs += 1
            return syncs
        }
        hook.withLock { $0 }?(number)
    }
}

/// Flushes and rotations during continuous load.
struct JournalFlushTests {
    let directory = StoreDirectory()

    /// Keeps the journal busy: each sync appends the next message, 200 times.
    private func load(_ store: Store, _ number: Int) {
        if number < 200 { store.append(message("m\(number)")) { _ in } }
    }

    @Test func `a flush ends after two syncs while messages arrive all the time`() async throws {
        let disk = HookedDisk()
        let store = try directory.open { $0.disk = disk }
        let flushed: Int = await withCheckedContinuation { continuation in
            disk.onSync { number in
                load(store, number)
                guard number == 10 else { return }
                store.journal.flush { continuation.resume(returning: disk.count) }
            }
            store.append(message("m0")) { _ in }
        }
        #expect(flushed <= 12)
        await store.close()
    }

    @Test func `a flush that begins during a sync covers the waiting lazy records`() async throws {
        let disk = HookedDisk()
        let store = try directory.open {
            $0.disk = disk
            $0.lazyDelay = .seconds(3600)
        }
        let records: UInt64 = await withCheckedContinuation { continuation in
            disk.onSync { number in
                load(store, number)
                guard number == 10 else { return }
                do {
                    try store.journal.append(JournalBody.unsynced(at: .now()), for: .none)
                } catch {
                    Issue.record(error)
                }
                let before = store.journal.lastRecord
                store.journal.flush {
                    // Counted are the batch of sync 10, the message that this sync appended, and the lazy record.
                    continuation.resume(returning: store.journal.lastRecord - before)
                }
            }
            store.append(message("m0")) { _ in }
        }
        #expect(records == 3)
        await store.close()
    }

    @Test func `a rotation of segments ends after two syncs while messages arrive all the time`() async throws
    {
        let disk = HookedDisk()
        let store = try directory.open {
            $0.disk = disk
            $0.maximumSegmentAge = .zero
        }
        let rotated: Int = await withCheckedContinuation { continuation in
            disk.onSync { number in
                load(store, number)
                guard number == 10 else { return }
                store.journal.rotate { continuation.resume(returning: disk.count) }
            }
            store.append(message("m0")) { _ in }
        }
        #expect(rotated <= 12)
        await store.close()
    }

    @Test func `a flush of an idle journal writes nothing`() async throws {
        let disk = HookedDisk()
        let store = try directory.open { $0.disk = disk }
        await store.journal.flush()
        await store.journal.rotate()
        #expect(disk.count == 0)
        await store.close()
    }
}
