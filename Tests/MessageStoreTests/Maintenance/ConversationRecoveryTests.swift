import BalloonPOSIX
import BusinessMessages
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// The recovery of conversations after a failed sync.
struct ConversationRecoveryTests {
    let directory = StoreDirectory()

    private func open(_ disk: any StoreDisk = SystemDisk(), repeating original: MessageID? = nil) throws
        -> Store
    {
        try directory.open(repeating: original) {
            $0.disk = disk
            $0.checkpointInterval = .seconds(3600)
            $0.deduplicationWindow = .zero
            $0.maximumSegmentAge = .zero
            $0.releaseBackoff = Backoff(from: .milliseconds(1), to: .milliseconds(30))
        }
    }

    /// Stores a message and writes its line.
    private func record(
        _ id: String, from customer: CustomerID = customer, in store: Store
    ) async throws -> Delivery {
        #expect(await store.append(message(id, from: customer)) == .stored)
        return try await store.lease()
    }

    private func file(of customer: CustomerID = customer) -> String {
        directory.path + "/conversations/" + ConversationFixture.path(business, customer)
    }

    private func inode(of customer: CustomerID = customer) -> UInt {
        var status = stat()
        return stat(file(of: customer), &status) == 0 ? status.st_ino : 0
    }

    private func ids(of customer: CustomerID = customer) throws -> [String] {
        try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer).map(\.id.rawValue)
    }

    private func problems() throws -> Int {
        try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }.problems
    }

    @Test(arguments: [1, 70])
    func `conversation lines lost by a failed sync are restored, and segments can be deleted again`(
        _ customers: Int
    ) async throws {
        let disk = ForgetfulDisk()
        let store = try open(disk)
        let others = (0..<customers).map { CustomerID("c\($0)") }
        for other in others {
            try await store.finish(try await record("a-\(other)", from: other, in: store), result: .handled)
        }
        await store.checkpointer.run()
        await store.journal.flush()
        #expect(try directory.records("checkpoint").count == 1)
        for other in others {
            try await store.finish(try await record("b-\(other)", from: other, in: store), result: .handled)
        }
        let unfinished = try await record("c", from: others[0], in: store)
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        #expect(try directory.records("unsynced").count == 1)
        // Files are synced one by one: some conversation lost its line with the first failed sync.
        #expect(try others.contains { try ids(of: $0) == ["a-\($0)"] })

        _ = await store.append(message("d", from: others[0]))
        try await store.finish(unfinished, result: .handled)
        let next = try await store.lease()
        try await store.finish(next, result: .handled)
        await store.checkpointer.run()
        await store.journal.flush()
        #expect(try directory.records("checkpoint").count == 2)
        #expect(try ids(of: others[0]) == ["a-c0", "b-c0", "c", "d"])
        for other in others.dropFirst() { #expect(try ids(of: other) == ["a-\(other)", "b-\(other)"]) }
        #expect(try problems() == 0)
        for _ in 1...3 { await store.retention.run() }
        #expect(try directory.records("message").isEmpty)
        await store.close()
        #expect(directory.log.lines.count { $0.hasPrefix("error") } == 1)
        #expect(
            directory.log.lines.contains {
                $0.hasPrefix("notice the conversation files have been written again")
            })
    }

    @Test func `after a failed sync the line of an unfinished delivery is written anew as well`() async throws
    {
        let disk = ForgetfulDisk()
        let store = try open(disk)
        let delivery = try await record("a", in: store)
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        #expect(try ids() == [])
        await store.checkpointer.run()
        #expect(try ids() == ["a"])
        try await store.finish(delivery, result: .handled)
        await store.close()
        #expect(try problems() == 0)
    }

    /// A line is written before its message counts as recorded; the recovery waits for that.
    @Test func `a line that a failed sync dropped before its message counted as recorded is written anew`()
        async throws
    {
        let disk = ForgetfulDisk()
        let store = try directory.open(recordingAs: nil) {
            $0.disk = disk
            $0.checkpointInterval = .seconds(3600)
        }
        let (writes, written) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        store.startRecording { message in
            let line = try store.write(message, as: .text)
            written.yield()
            gate.wait()
            return line
        }
        await withCheckedContinuation { stored in store.append(message("a")) { _ in stored.resume() } }
        for await _ in writes { break }
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        let recovery = Task { await store.checkpointer.run() }
        // Nothing is quarantined during this wait, because the recovery waits for the recorder. Otherwise it would
        // quarantine the conversation at once.
        _ = await eventually(within: .milliseconds(300)) { store.statistics.quarantinedConversations > 0 }
        gate.signal()
        await recovery.value
        #expect(store.statistics.quarantinedConversations == 0)
        #expect(try ids() == ["a"])
        try await store.finish(try await store.lease(), result: .handled)
        await store.close()
        #expect(try problems() == 0)
    }

    @Test func `after a failed sync the next process rewrites the conversations once`() async throws {
        let disk = ForgetfulDisk()
        disk.forgets.store(false, ordering: .relaxed)
        let store = try open(disk)
        try await store.finish(try await record("a", in: store), result: .handled)
        _ = try await record("b", from: CustomerID("c1"), in: store)
        disk.fails.store(true, ordering: .relaxed)
        await store.close()
        #expect(try directory.records("checkpoint").isEmpty)
        let before = [inode(), inode(of: CustomerID("c1"))]

        let restarted = try open()
        let after = [inode(), inode(of: CustomerID("c1"))]
        #expect(Set(before).isDisjoint(with: after))
        #expect(try ids() == ["a"])
        #expect(try ids(of: CustomerID("c1")) == ["b"])
        await restarted.close()
        #expect(try directory.records("checkpoint").count == 1)

        let again = try open()
        #expect([inode(), inode(of: CustomerID("c1"))] == after)
        await again.close()
    }

    @Test func `a failed rewrite of conversations is retried with growing pauses`() async throws {
        let disk = ForgetfulDisk()
        let store = try directory.open {
            $0.disk = disk
            $0.checkpointInterval = .milliseconds(1)
        }
        // The obstacle and the fault come before the line: a round that syncs the line first leaves nothing to
        // rewrite.
        let obstacle = "\(file()).\(getpid()).new"
        try Directory.make(obstacle)
        disk.forgets.store(false, ordering: .relaxed)
        disk.fails.store(true, ordering: .relaxed)
        let delivery = try await record("a", in: store)
        await directory.log.first { $0.contains("rewriting of conversations failed") }
        // The failed sync dropped the line.
        try File(file(), for: .overwriting).truncate(to: 0)
        try await store.finish(delivery, result: .handled)
        disk.fails.store(false, ordering: .relaxed)
        #expect(try directory.records("checkpoint").isEmpty)
        rmdir(obstacle)
        await directory.log.first { $0.contains("the conversation files have been written again") }
        await store.close()
        #expect(try !directory.records("checkpoint").isEmpty)
        #expect(try ids() == ["a"])
        #expect(try problems() == 0)
    }

    @Test func `a conversation that lost lines which the journal lacks is quarantined, and delays no other`()
        async throws
    {
        let disk = ForgetfulDisk()
        let store = try open(disk)
        try await store.finish(try await record("a", in: store), result: .handled)
        try await store.finish(try await record("b", from: CustomerID("c1"), in: store), result: .handled)
        await store.checkpointer.run()
        try await store.finish(try await record("c", in: store), result: .handled)
        try await store.finish(try await record("d", from: CustomerID("c1"), in: store), result: .handled)
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        try File(file(), for: .overwriting).write([UInt8](repeating: 0, count: 1), at: 40)
        await store.checkpointer.run()
        #expect(store.statistics.quarantinedConversations == 1)
        #expect(try ids(of: CustomerID("c1")) == ["b", "d"])
        #expect(directory.log.lines.contains { $0.hasPrefix("critical conversation is damaged") })
        let rebuilt = try await store.rebuild()
        #expect(rebuilt.lostLines == 0)
        #expect(try ids() == ["a", "c"])
        await store.close()
    }

    @Test
    func `the line of a message is restored before its replies, in whatever order the journal has them`() {
        let key = ConversationKey(business: business, customer: customer)
        let line = { (id: String, record: UInt64, result: ReplyResult?) in
            ConversationEntry(
                conversation: key, record: record, at: .now(), id: MessageID(id), kind: .text,
                message: Array("{}".utf8), result: result)
        }
        let entries = [
            line("r0", 1, .accepted(status: 200)), line("r1", 1, .accepted(status: 200)), line("b", 2, nil),
            line("a", 1, nil),
        ]
        let repair = ConversationRepair([], at: ConversationFixture.path(business, customer), adding: entries)
        let ids = repair.bytes.split(separator: UInt8(ascii: "\n")).map {
            ConversationLine(Array($0))?.id.rawValue
        }
        #expect(ids == ["a", "r0", "r1", "b"])
    }

    @Test(arguments: [false, true])
    func `a repair removes the secrets of a line that an earlier version wrote`(_ isJournalled: Bool) throws {
        let key = ConversationKey(business: business, customer: customer)
        let data = #"{"interactiveData":{"data":{"authenticate":{"oauth2":{"token":"S3CRET"}}}}}"#
        let entry = ConversationEntry(
            conversation: key, record: 1, at: .now(), id: MessageID("a"), kind: .authentication,
            message: Array(data.utf8))
        let written = entry.line(sequence: 1)
        let old = String(decoding: written, as: UTF8.self).replacing("[not kept]", with: "S3CRET")
        let path = ConversationFixture.path(business, customer)
        let repair = ConversationRepair(Array(old.utf8), at: path, adding: isJournalled ? [entry] : [])
        #expect(repair.bytes == written)
        #expect(old.contains("S3CRET") && repair.corrected == 1)
        let again = ConversationRepair(written, at: path, adding: isJournalled ? [entry] : [])
        #expect(again.bytes == written && again.corrected == 0)
    }

    @Test
    func `conversation lines that a start could not restore are written before a checkpoint covers them`()
        async throws
    {
        let disk = ForgetfulDisk()
        let store = try open(disk)
        let delivery = try await record("a", in: store)
        let replies = ["r0", "r1"].map {
            DecidedReply(id: MessageID($0), kind: .text, message: Array("{}".utf8))
        }
        try await store.decide(delivery, DecidedOutcome(.handled, replies: replies))
        try await store.settleReply(0, of: delivery, .accepted(status: 200))
        disk.fails.store(true, ordering: .relaxed)
        await store.close()
        #expect(try ids() == [])

        let obstacle = "\(file()).\(getpid()).new"
        try Directory.make(obstacle)
        let restarted = try open()
        rmdir(obstacle)
        await restarted.checkpointer.run()
        let again = try await restarted.lease()
        try await restarted.settleReply(1, of: again, .accepted(status: 200))
        try await restarted.finish(again, result: .handled)
        await restarted.close()
        #expect(try !directory.records("checkpoint").isEmpty)
        let found = try ids()
        #expect(found == ["a", "r0", "r1"])
        #expect(try problems() == 0)
    }

    @Test func `the line of a repeated choice keeps its mark when it is rewritten`() async throws {
        let disk = ForgetfulDisk()
        let store = try open(disk, repeating: MessageID("earlier"))
        let delivery = try await record("a", in: store)
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        await store.checkpointer.run()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.repeats) == [MessageID("earlier")])
        try await store.finish(delivery, result: .repeated(of: MessageID("earlier")))
        await store.close()
        #expect(try problems() == 0)
    }

    @Test func `a delivery is unfinished until the journal has its end`() async throws {
        let store = try open()
        let delivery = try await record("a", in: store)
        await store.journal.close()
        await #expect(throws: StoreError.closed) { try await store.finish(delivery, result: .handled) }
        #expect(
            store.scheduler.all.filter(\.pending.recording.isDone).map(\.pending.record) == [delivery.record])
        await store.close()
    }

    @Test func `a line that is restored while a delivery writes it exists once`() async throws {
        let store = try open()
        let delivery = try await record("a", in: store)
        let reply = ConversationEntry(
            conversation: delivery.conversation, record: delivery.record, at: .now(), id: MessageID("r"),
            kind: .text, message: Array("{}".utf8), result: .accepted(status: 200))
        try store.conversations.partition(of: delivery.conversation).reconcile(
            store.conversations.name(of: delivery.conversation), with: [reply], isSynced: false)
        try store.conversations.partition(of: reply.conversation).append(reply, mightBeThere: false)
        #expect(try ids() == ["a", "r"])
        await store.close()
    }

    @Test(arguments: [EIO, EISDIR])
    func `an unreadable conversation is quarantined, and delays no other`(_ code: Int32) async throws {
        let disk = ForgetfulDisk()
        let store = try open(disk)
        try await store.finish(try await record("a", in: store), result: .handled)
        try await store.finish(try await record("b", from: CustomerID("c1"), in: store), result: .handled)
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        disk.unreadable.withLock { $0[file()] = code }
        await store.checkpointer.run()
        await store.journal.flush()
        #expect(store.statistics.quarantinedConversations == 1)
        #expect(try ids(of: CustomerID("c1")) == ["b"])
        #expect(try directory.records("checkpoint").count == 1)
        #expect(directory.log.lines.contains { $0.hasPrefix("critical conversation is damaged") })
        let rebuilt = try await store.rebuild()
        #expect(rebuilt.lostLines == 0)
        #expect(try ids() == ["a"])
        await store.close()
    }

    @Test(arguments: [false, true])
    func `a conversation whose file is not accessible is finally quarantined, and delays no checkpoint`(
        _ isThere: Bool
    ) async throws {
        let disk = ForgetfulDisk()
        if isThere {
            let earlier = try open(disk)
            try await earlier.finish(try await record("a", in: earlier), result: .handled)
            await earlier.close()
        }
        disk.unreadable.withLock { $0[file()] = EACCES }
        let store = try open(disk)
        #expect(await store.append(message("b")) == .stored)
        // After some failed attempts the line is only in the journal, and the message is leased.
        let delivery = try await store.lease()
        #expect(store.statistics.refusedConversations == 1)
        try await store.finish(delivery, result: .handled)
        #expect(store.statistics.checkpointFailure != nil)
        let before = try directory.records("checkpoint").count
        await store.checkpointer.run()
        #expect(store.statistics.checkpointFailure == nil)
        #expect(store.statistics.refusedConversations == 0)
        #expect(store.statistics.quarantinedConversations == 1)
        #expect(directory.log.lines.contains { $0.hasPrefix("critical") && $0.contains("correct its mode") })
        try await store.finish(try await record("c", from: CustomerID("c1"), in: store), result: .handled)
        await store.close()
        #expect(try directory.records("checkpoint").count > before)
        let found = Mutex<[StoreProblem.Kind]>([])
        _ = try StoreVerification.run(dataDirectory: directory.path) { problem in
            found.withLock { $0.append(problem.kind) }
        }
        #expect(found.withLock { $0 } == [.conversationQuarantined])

        let again = try open(disk)
        #expect(again.statistics.quarantinedConversations == 1)
        disk.unreadable.withLock { $0 = [:] }
        #expect(try await again.rebuild().lostLines == 0)
        await again.close()
        #expect(try ids() == (isThere ? ["a", "b"] : ["b"]))
        #expect(try problems() == 0)
        let left = directory.path + "/damaged/" + ConversationFixture.path(business, customer)
        #expect(Directory.exists(left + ".before") == isThere)
        #expect(!Directory.exists(left))
    }

    @Test func `a conversation whose rewrite still fails delays no other conversation`() async throws {
        let disk = ForgetfulDisk()
        let store = try open(disk)
        let others = (0..<70).map { CustomerID("c\($0)") }
        for customer in others + [customer] {
            try await store.finish(
                try await record("a-\(customer)", from: customer, in: store), result: .handled)
        }
        disk.fails.store(true, ordering: .relaxed)
        await store.checkpointer.run()
        disk.fails.store(false, ordering: .relaxed)
        disk.unreadable.withLock { $0[file()] = EMFILE }
        await store.checkpointer.run()
        #expect(store.statistics.checkpointFailure?.contains("Too many open files") == true)
        for other in others { #expect(try ids(of: other) == ["a-\(other)"]) }
        #expect(directory.log.lines.contains { $0.contains("rewriting of conversations failed") })
        await store.close()
        #expect(try directory.records("checkpoint").isEmpty)
        #expect(store.statistics.quarantinedConversations == 0)
    }
}

/// A disk whose failed syncs lose the conversation lines since the last sync.
private final class ForgetfulDisk: StoreDisk {
    let fails = Atomic(false)
    let forgets = Atomic(true)
    /// The unreadable files with their errors.
    let unreadable = Mutex<[String: Int32]>([:])
    private let disk = SystemDisk()
    /// The conversations, with the synced size of each.
    private let conversations = Mutex<[String: (file: File, syncedBytes: Int)]>([:])

    func create(_ path: String) throws(SystemError) -> File { try disk.create(path) }

    func open(_ path: String) throws(SystemError) -> File {
        if unreadable.withLock({ $0[path] }) == EACCES { throw SystemError("open", code: EACCES) }
        let file = try File(path, for: .appending)
        conversations.withLock { $0[path] = (file, $0[path]?.syncedBytes ?? 0) }
        return file
    }

    func openExisting(_ path: String) throws(SystemError) -> File { try open(path) }

    func read(_ path: String) throws(SystemError) -> [UInt8] {
        if let code = unreadable.withLock({ $0[path] }) { throw SystemError("pread", code: code) }
        return try disk.read(path)
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try disk.append(bytes, to: file) }

    func synchronize(_ file: File) throws(SystemError) {
        let path = conversations.withLock { $0.first { $0.value.file === file }?.key }
        guard let path else { return try disk.synchronize(file) }
        try end([path])
    }

    func synchronizeFileSystem(of path: String) throws(SystemError) {
        try end(conversations.withLock { Array($0.keys) })
    }

    private func end(_ paths: [String]) throws(SystemError) {
        for path in paths {
            guard let (_, syncedBytes) = conversations.withLock({ $0[path] }) else { continue }
            if fails.load(ordering: .relaxed) {
                guard forgets.load(ordering: .relaxed) else { continue }
                try File(path, for: .overwriting).truncate(to: syncedBytes)
            } else {
                let sizeBytes = try File(path, for: .reading).sizeBytes()
                conversations.withLock { $0[path]?.syncedBytes = sizeBytes }
            }
        }
        if fails.load(ordering: .relaxed) { throw SystemError("fdatasync", code: EIO) }
    }
}
