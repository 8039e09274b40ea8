import BalloonPOSIX
import BusinessMessages
import Dispatch
import Glibc
import MessageStore
import Synchronization
import TestSupport
import Testing

/// The effects of slow or failing conversation files on everything else.
struct ConversationDiskTests {
    let directory = StoreDirectory()

    private func record(_ id: String, in store: Store) async throws -> Delivery {
        #expect(await store.append(message(id)) == .stored)
        let delivery = try await store.lease()
        return delivery
    }

    @Test func `reading the statistics does not wait for a sync of conversations`() async throws {
        let asked = Mutex<Bool?>(nil)
        let asking = Mutex<Store?>(nil)
        let disk = ConversationDisk(whileSynchronizing: {
            guard let store = asking.withLock({ $0 }) else { return }
            let answered = DispatchSemaphore(value: 0)
            DispatchQueue(label: "asks").async {
                _ = (store.statistics, store.lastSyncFailure)
                answered.signal()
            }
            let isAnswered = answered.wait(timeout: .now() + .seconds(60)) == .success
            asked.withLock { $0 = isAnswered }
        })
        let store = try directory.open { $0.disk = disk }
        try await store.finish(try await record("1", in: store), result: .handled)
        asking.withLock { $0 = store }
        await store.close()
        asking.withLock { $0 = nil }
        #expect(asked.withLock { $0 } == true)
    }

    @Test func `a conversation line whose write failed is written later and covered by the checkpoint`()
        async throws
    {
        let disk = ConversationDisk()
        let store = try directory.open {
            $0.disk = disk
            $0.checkpointInterval = .seconds(3600)
        }
        disk.isFull.store(true, ordering: .relaxed)
        #expect(await store.append(message("1")) == .stored)
        await directory.log.first { $0.contains("a conversation's line could not be written") }
        disk.isFull.store(false, ordering: .relaxed)
        try await store.finish(try await store.lease(), result: .handled)
        await store.close()
        #expect(try directory.records("checkpoint").count == 1)
        #expect(
            try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer).count == 1)
    }

    @Test func `an unwritten conversation line delays no checkpoint, and is written with its delivery`()
        async throws
    {
        let disk = ConversationDisk()
        let store = try directory.open { $0.disk = disk }
        let first = try await record("1", in: store)
        try await store.finish(first, result: .handled)
        disk.isFull.store(true, ordering: .relaxed)
        #expect(await store.append(message("2")) == .stored)
        await directory.log.first { $0.contains("a conversation's line could not be written") }
        await store.close()
        #expect(try directory.records("checkpoint").count == 1)
        let restarted = try directory.open()
        let again = try await restarted.lease()
        #expect(again.id == MessageID("2"))
        try await restarted.finish(again, result: .handled)
        await restarted.close()
        let verification = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect((verification.problems, verification.lines) == (0, 2))
    }

    @Test func `a handler's state with an impossible decision record is replaced by the next state`()
        async throws
    {
        let store = try directory.open()
        let path = directory.path + "/states/" + ConversationFixture.path(business, customer).dropLast()
        for (id, state) in [("1", #"{"step":1}"#), ("2", #"{"step":2}"#)] {
            let delivery = try await record(id, in: store)
            try await store.decide(delivery, DecidedOutcome(.handled, state: Array(state.utf8)))
            try await store.finish(delivery, result: .handled)
            let kept = try await store.state(of: business, customer)
            #expect(kept == Array(state.utf8))
            try AtomicFile.write(Array(#"{"format":1,"decision":-1,"state":{}}"#.utf8), to: path)
        }
        await store.close()
    }

    @Test func `reading from an unreadable folder throws, unlike reading an absent conversation`()
        async throws
    {
        let store = try directory.open()
        let delivery = try await record("1", in: store)
        try await store.decide(delivery, DecidedOutcome(.handled, state: Array("{}".utf8)))
        try await store.finish(delivery, result: .handled)
        await store.close()
        for folder in ["conversations", "states"] {
            let path = Directory.parent(
                of: directory.path + "/\(folder)/" + ConversationFixture.path(business, customer))
            try Directory.rename(path, to: path + ".away")
            // A link to itself cannot be opened.
            #expect(symlink(path, path) == 0)
        }
        let again = try directory.open()
        #expect(throws: StoreError.self) { try again.recentLines(of: business, customer, maximum: 1) }
        await #expect(throws: StoreError.self) { try await again.state(of: business, customer) }
        let files = ConversationFiles(dataDirectory: directory.path)
        #expect(throws: StoreError.self) { try files.lines(of: business, customer) }
        #expect(throws: StoreError.self) { try files.summaries(of: customer) }
        await again.close()
    }

    @Test func `a customer's conversations are found without reading those of others`() async throws {
        let store = try directory.open()
        try await store.finish(try await record("1", in: store), result: .handled)
        #expect(await store.append(message("2", from: CustomerID("d"))) == .stored)
        let other = try await store.lease()
        try await store.finish(other, result: .handled)
        await store.close()
        let path = ConversationFixture.path(business, CustomerID("d"))
        try AtomicFile.write(Array("broken\n".utf8), to: directory.path + "/conversations/" + path)
        let files = ConversationFiles(dataDirectory: directory.path)
        #expect(throws: StoreError.self) { try files.list() }
        let found = try files.summaries(of: customer)
        #expect(found.map(\.business) == [business])
        #expect(found.map(\.lines) == [1])
        #expect(try files.summaries(of: CustomerID("nobody")).isEmpty)
    }
}

/// A disk on which syncs of conversations can be observed, and writes of lines can fail.
private final class ConversationDisk: StoreDisk {
    let isFull = Atomic(false)
    private let whileSynchronizing: @Sendable () -> Void
    private let disk = SystemDisk()
    private let conversations = Mutex<[File]>([])

    init(whileSynchronizing: @escaping @Sendable () -> Void = {}) {
        self.whileSynchronizing = whileSynchronizing
    }

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func open(_ path: String) throws(SystemError) -> File {
        let file = try File(path, for: .appending)
        conversations.withLock { $0.append(file) }
        return file
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        if isFull.load(ordering: .relaxed), isConversation(file) { throw SystemError("write", code: ENOSPC) }
        try disk.append(bytes, to: file)
    }

    func synchronize(_ file: File) throws(SystemError) {
        if isConversation(file) { whileSynchronizing() }
        try disk.synchronize(file)
    }

    private func isConversation(_ file: File) -> Bool {
        conversations.withLock { $0.contains { $0 === file } }
    }
}
