import BalloonPOSIX
import BusinessMessages
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import MessageStore

/// The times of syncs, and operations during a sync.
struct ConversationSyncTests {
    let directory = StoreDirectory()

    private func open(
        _ disk: SyncDisk, _ change: (inout StoreConfiguration) -> Void = { _ in }
    ) throws -> Store {
        try directory.open {
            $0.disk = disk
            $0.checkpointInterval = .seconds(3600)
            change(&$0)
        }
    }

    /// Stores, records and finishes a message.
    private func handle(_ id: String, from customer: CustomerID = customer, in store: Store) async throws {
        #expect(await store.append(message(id, from: customer)) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
    }

    private func path(_ customer: CustomerID) -> String {
        directory.path + "/conversations/" + ConversationFixture.path(business, customer)
    }

    @Test func `a hanging sync delays neither writes nor reads of any conversation`()
        async throws
    {
        let disk = SyncDisk()
        let store = try open(disk)
        try await handle("1", in: store)
        disk.hold(path(customer))
        let round = Task { await store.checkpointer.run() }
        await disk.waitForHeldSync()
        try await handle("2", in: store)
        // The conversations are in the partition of the hanging sync, and in all others.
        for number in 1...64 {
            try await handle("a\(number)", from: CustomerID("c\(number)"), in: store)
            let lines = try store.recentLines(of: business, CustomerID("c\(number)"), maximum: 5)
            #expect(lines.map(\.id.rawValue) == ["a\(number)"])
        }
        let lines = try store.recentLines(of: business, customer, maximum: 5)
        #expect(lines.map(\.id.rawValue) == ["1", "2"])
        #expect(store.statistics.quarantinedConversations == 0)
        disk.release()
        await round.value
        await store.close()
    }

    /// Each wait for a copy in a database is one of its commits.
    @Test func `the files of a round, and of a stop, are waited for together when a copy keeps them`()
        async throws
    {
        let copy = MemoryCopy(of: directory.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        let store = try directory.open {
            $0.maximumConversationSyncsPerSecond = 10_000
        }
        let customers = (1...300).map { CustomerID("c\($0)") }
        func handleAll(_ round: String) async throws {
            for customer in customers {
                try await handle(round + customer.rawValue, from: customer, in: store)
            }
        }
        try await handleAll("a")
        let before = copy.waits
        await store.checkpointer.run()
        let afterRound = copy.waits
        #expect(afterRound - before < 100)
        try await handleAll("b")
        let written = copy.waits
        await store.close()
        #expect(copy.waits - written < 20)
        for customer in customers {
            let path = path(customer)
            #expect(try copy.content(path) == File(path, for: .reading).readAll())
        }
    }

    @Test func `a file that is missing is written again, and not removed from its copy`() async throws {
        let copy = MemoryCopy(of: directory.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        let store = try directory.open { $0.maximumOpenConversations = 1 }
        let customers = (1...200).map { CustomerID("c\($0)") }
        for customer in customers { try await handle(customer.rawValue, from: customer, in: store) }
        // Without a word to the copy; a later conversation of its partition is open instead.
        #expect(unlink(path(customers[0])) == 0)
        await store.checkpointer.run()
        #expect(store.checkpointer.failure != nil)
        await store.checkpointer.run()
        #expect(store.checkpointer.failure == nil)
        #expect(try copy.content(path(customers[0])) == File(path(customers[0]), for: .reading).readAll())
        await store.close()
    }

    @Test func `files that a copy did not keep are synced again, and not written again`() async throws {
        let copy = MemoryCopy(of: directory.path)
        DurableCopies.begin(copy)
        defer { DurableCopies.end(copy) }
        let store = try directory.open()
        try await handle("1", in: store)
        copy.isAway = true
        await store.checkpointer.run()
        #expect(store.checkpointer.failure == nil)
        copy.isAway = false
        #expect(copy.content(path(customer)) == nil)
        await store.checkpointer.run()
        #expect(try copy.content(path(customer)) == File(path(customer), for: .reading).readAll())
        await store.close()
    }

    @Test func `a line written during its file's sync is synced in the next round`() async throws {
        let disk = SyncDisk()
        let store = try open(disk)
        try await handle("1", in: store)
        disk.hold(path(customer))
        let round = Task { await store.checkpointer.run() }
        await disk.waitForHeldSync()
        try await handle("2", in: store)
        disk.release()
        await round.value
        #expect(disk.syncs(of: path(customer)) == 1)
        await store.checkpointer.run()
        #expect(disk.syncs(of: path(customer)) == 2)
        await store.checkpointer.run()
        #expect(disk.syncs(of: path(customer)) == 2)
        await store.close()
    }

    @Test func `a checkpoint follows the sync of all files of its round, and covers no later lines`()
        async throws
    {
        let disk = SyncDisk()
        let store = try open(disk)
        for number in 1...8 { try await handle("a\(number)", from: CustomerID("c\(number)"), in: store) }
        // The record of the last delivery's end is lazy, so a flush writes it.
        await store.journal.flush()
        let last = store.journal.lastRecord
        for number in 1...8 { disk.hold(path(CustomerID("c\(number)"))) }
        let round = Task { await store.checkpointer.run() }
        for number in 1...8 {
            await disk.waitForHeldSync()
            if number == 4 { try await handle("late", from: CustomerID("late"), in: store) }
            await store.journal.flush()
            #expect(try directory.records("checkpoint").isEmpty)
            disk.release()
        }
        await round.value
        await store.journal.flush()
        #expect(try directory.records("checkpoint").map { $0["through"]?.int } == [Int(last)])
        #expect(disk.syncs(of: path(CustomerID("late"))) == 0)
        await store.close()
    }

    @Test func `no conversation is synced twice within the sync interval`()
        async throws
    {
        let disk = SyncDisk()
        let store = try open(disk) { $0.conversationSyncInterval = .seconds(3600) }
        for number in 1...5 {
            try await handle("\(number)", in: store)
            await store.checkpointer.run()
            #expect(disk.syncs(of: path(customer)) == 1)
        }
        await store.journal.flush()
        #expect(try directory.records("checkpoint").count == 1)
        await store.close()
        #expect(disk.syncs(of: path(customer)) == 2)
    }

    @Test func `the whole file system is synced only when the store closes`() async throws {
        let disk = SyncDisk()
        let store = try open(disk) {
            $0.maximumOpenConversations = 16
            $0.maximumConversationSyncsPerSecond = 100_000
        }
        for number in 1...70 { try await handle("a\(number)", from: CustomerID("c\(number)"), in: store) }
        await store.checkpointer.run()
        #expect(disk.fileSystemSyncs == 0)
        for number in 1...70 { #expect(disk.syncs(of: path(CustomerID("c\(number)"))) == 1) }
        // The folders of each file, of the business and of all conversations are synced.
        #expect(
            disk.folderSyncs.isSuperset(of: [
                directory.path + "/conversations/b", directory.path + "/conversations",
            ]))
        for number in 1...70 {
            #expect(disk.folderSyncs.contains(Directory.parent(of: path(CustomerID("c\(number)")))))
        }
        for number in 1...70 { try await handle("b\(number)", from: CustomerID("c\(number)"), in: store) }
        await store.close()
        #expect(disk.fileSystemSyncs == 1)
        for number in 1...70 { #expect(disk.syncs(of: path(CustomerID("c\(number)"))) == 1) }
        #expect(try directory.records("checkpoint").count == 2)
    }

    @Test func `closing the store ends a paused round of syncs, and syncs everything`() async throws {
        let disk = SyncDisk()
        let store = try open(disk) { $0.maximumConversationSyncsPerSecond = 1 }
        for number in 1...20 { try await handle("a\(number)", from: CustomerID("c\(number)"), in: store) }
        let round = Task { await store.checkpointer.run() }
        await store.close()
        await round.value
        for number in 1...20 { #expect(disk.syncs(of: path(CustomerID("c\(number)"))) >= 1) }
        #expect(try directory.records("checkpoint").count == 1)
    }

    @Test func `the sync of a conversation quarantined during a round does not recreate its file`()
        async throws
    {
        let disk = SyncDisk()
        // With one open file in each partition, the other files are opened for their sync.
        let store = try open(disk) { $0.maximumOpenConversations = 1 }
        let others = (1...40).map { CustomerID("c\($0)") }
        for other in others { try await handle("a-\(other)", from: other, in: store) }
        for other in others { disk.hold(path(other)) }
        let round = Task { await store.checkpointer.run() }
        await disk.waitForHeldSync()
        let waiting = try #require(others.last { disk.arrivedSyncs(of: path($0)) == 0 && $0 != others.last })
        try File(path(waiting), for: .overwriting).write(Array("broken".utf8), at: 0)
        #expect(throws: StoreError.self) { try store.recentLines(of: business, waiting, maximum: 5) }
        #expect(store.statistics.quarantinedConversations == 1)
        disk.releaseAll()
        await round.value
        #expect(!Directory.exists(path(waiting)))
        #expect(store.statistics.checkpointFailure == nil)
        let damaged = directory.path + "/damaged"
        #expect(disk.folderSyncs.isSuperset(of: [damaged, damaged + "/b", directory.path]))
        #expect(try await store.rebuild().lostLines == 0)
        #expect(try store.recentLines(of: business, waiting, maximum: 5).count == 1)
        await store.close()
    }

    @Test func `syncs are rate-limited only while messages arrive`() {
        let start = ContinuousClock.now
        var now = start
        var pace = SyncPace(maximumPerSecond: 200, lastRecord: 1, at: now)
        #expect(pace.batch == 20)
        var synced: [(Duration, Int)] = []
        for record in UInt64(2)..<100 {
            synced.append((now - start, pace.batch))
            // Each batch takes 3 ms.
            now += .milliseconds(3)
            now += pace.pause(behind: pace.batch, lastRecord: record, at: now)
        }
        for (begin, _) in synced {
            let within = synced.filter { $0.0 >= begin && $0.0 < begin + .seconds(1) }
            #expect(within.reduce(0) { $0 + $1.1 } <= 200)
        }
        // A disk slower than the rate adds no further wait.
        now += .seconds(5)
        #expect(pace.pause(behind: 20, lastRecord: 100, at: now) == .zero)
        now += .milliseconds(999)
        #expect(pace.pause(behind: 400, lastRecord: 100, at: now) == .milliseconds(1001))
        now += .milliseconds(1001)
        #expect(pace.pause(behind: 400, lastRecord: 100, at: now) == .zero)
    }

    @Test func `the ends of the most recently closed conversation files are cached, and no others`() {
        var ends = KnownEnds(maximumCount: 100)
        let names = (0..<1000).map {
            ConversationName(ConversationKey(business: business, customer: CustomerID("c\($0)")), in: "b")
        }
        for (number, name) in names.enumerated() {
            ends.insert(KnownEnds.End(sizeBytes: number, lastSequence: number), of: name)
        }
        #expect(names.suffix(50).allSatisfy { ends.remove($0) != nil })
        #expect(names.dropLast(100).allSatisfy { ends.remove($0) == nil })
        #expect(names.suffix(50).allSatisfy { ends.remove($0) == nil })
    }

    @Test func `the end of a closed conversation file that grew is read again`() async throws {
        let store = try open(SyncDisk()) { $0.maximumOpenConversations = 1 }
        let others = (1...40).map { CustomerID("c\($0)") }
        for other in others { try await handle("a-\(other)", from: other, in: store) }
        try File(path(others[0]), for: .appending).append(Array("{\"seq\":2,\"at".utf8))
        try await handle("b", from: others[0], in: store)
        let lines = try store.recentLines(of: business, others[0], maximum: 5)
        #expect(lines.map(\.id.rawValue) == ["a-c1", "b"])
        await store.close()
    }

    @Test(arguments: ["a884eddf-0c47-4b3e-9c1f-3f2d7c1e5a60", "../x", "ü", "b"])
    func `a conversation's name gives the documented path, and is parsed from that path`(_ id: String) {
        let key = ConversationKey(business: BusinessID(id), customer: CustomerID("urn:mbid:AQ\(id)"))
        let name = ConversationName(key, in: ConversationPath.business(key.business))
        #expect(name.path == ConversationPath.file(key))
        #expect(ConversationName(path: name.path) == name)
        #expect(ConversationName(path: "b/" + name.path) == nil)
        #expect(ConversationName(path: String(name.path.dropLast())) == nil)
    }
}

/// A disk that counts syncs of conversations, and blocks those of some files until they are released.
private final class SyncDisk: StoreDisk {
    private struct State {
        var paths: [ObjectIdentifier: (file: File, path: String)] = [:]
        var held: Set<String> = []
        var arrived: [String: Int] = [:]
        var ended: [String: Int] = [:]
        var folders: Set<String> = []
        var fileSystems = 0
        var releasesAll = false
    }

    private let state = Mutex(State())
    private let gate = DispatchSemaphore(value: 0)
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation
    private let disk = SystemDisk()

    init() { (arrivals, arrival) = AsyncStream.makeStream() }

    /// Blocks the next sync of a file until ``release()``.
    func hold(_ path: String) { state.withLock { _ = $0.held.insert(path) } }
    func release() { gate.signal() }
    func releaseAll() {
        state.withLock { $0.held = [] }
        gate.signal()
    }
    func waitForHeldSync() async { for await _ in arrivals { return } }

    func syncs(of path: String) -> Int { state.withLock { $0.ended[path] ?? 0 } }
    func arrivedSyncs(of path: String) -> Int { state.withLock { $0.arrived[path] ?? 0 } }
    var folderSyncs: Set<String> { state.withLock { $0.folders } }
    var fileSystemSyncs: Int { state.withLock { $0.fileSystems } }

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func open(_ path: String) throws(SystemError) -> File { try known(disk.open(path), path) }

    func openExisting(_ path: String) throws(SystemError) -> File { try known(disk.openExisting(path), path) }

    private func known(_ file: File, _ path: String) -> File {
        state.withLock { $0.paths[ObjectIdentifier(file)] = (file, path) }
        return file
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }

    func synchronize(_ file: File) throws(SystemError) {
        guard let path = state.withLock({ $0.paths[ObjectIdentifier(file)]?.path }) else {
            return try disk.synchronize(file)
        }
        let isHeld = state.withLock { state in
            state.arrived[path, default: 0] += 1
            return state.held.remove(path) != nil
        }
        if isHeld {
            arrival.yield()
            gate.wait()
        }
        try disk.synchronize(file)
        state.withLock { $0.ended[path, default: 0] += 1 }
    }

    func synchronizeDirectory(_ path: String) throws(SystemError) {
        state.withLock { _ = $0.folders.insert(path) }
    }

    func synchronizeFileSystem(of path: String) throws(SystemError) {
        state.withLock { $0.fileSystems += 1 }
    }
}
