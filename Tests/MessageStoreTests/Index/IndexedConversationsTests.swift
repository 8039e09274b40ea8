import BalloonPOSIX
import BusinessMessages
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

struct IndexedConversationsTests {
    private let directory = StoreDirectory()

    private var indexPath: String { directory.path + "/conversation-index" }

    private func open(
        _ directory: StoreDirectory? = nil, keepsIndex: Bool = true, recordingAs kind: Kind? = .text,
        _ change: (inout StoreConfiguration) -> Void = { _ in }
    ) async throws -> Store {
        let store = try (directory ?? self.directory).open(recordingAs: kind) { configuration in
            configuration.keepsIndex = keepsIndex
            change(&configuration)
        }
        await store.index.rest()
        return store
    }

    /// Stores a message of each customer, and waits until its line is written.
    private func receive(_ customers: [String], to business: String = "b", by store: Store) async throws {
        for customer in customers {
            let id = "m\(customer)\(UInt64.random(in: 0...UInt64.max))"
            guard case .stored = await store.append(message(id, from: customer, to: business)) else {
                Issue.record("not stored")
                return
            }
        }
        await store.scheduler.finishRecordings()
    }

    private func message(_ id: String, from customer: String, to business: String) -> ReceivedMessage {
        ReceivedMessage(
            business: BusinessID(business), customer: CustomerID(customer), id: MessageID(id),
            message: Array(
                "{\"id\":\"\(id)\",\"sourceId\":\"\(customer)\",\"destinationId\":\"\(business)\"}".utf8),
            hasPayloadReference: false)
    }

    private func digest(_ customer: String) -> ConversationDigest {
        ConversationDigest(of: CustomerID(customer))
    }

    private func listed(_ store: Store, of business: String = "b") throws -> [ConversationDigest: Int] {
        let page = try #require(store.conversations(Store.ConversationQuery(of: BusinessID(business))))
        return Dictionary(uniqueKeysWithValues: page.conversations.map { ($0.digest, Int($0.lines)) })
    }

    /// The expected list, read from the conversations without an index.
    private func inFiles(_ directory: StoreDirectory) throws -> [ConversationDigest: Int] {
        let summaries = try ConversationFiles(dataDirectory: directory.path).list()
        return Dictionary(uniqueKeysWithValues: summaries.map { (digest($0.customer.rawValue), $0.lines) })
    }

    @Test func `a written line is in the list at once`() async throws {
        let store = try await open()
        try await receive(["a", "b", "a"], by: store)
        let page = try #require(store.conversations(Store.ConversationQuery(of: BusinessID("b"))))
        #expect(page.conversations.map(\.digest) == [digest("a"), digest("b")])
        #expect(page.conversations.map(\.lines) == [2, 1])
        #expect(page.conversations.first?.kind == .text)
        #expect(page.conversations.first?.isOutbound == false)
        var query = Store.ConversationQuery(of: BusinessID("b"))
        query.only = [CustomerID("b")]
        #expect(store.conversations(query)?.conversations.map(\.digest) == [digest("b")])
        query.only = [CustomerID("unknown")]
        #expect(store.conversations(query)?.conversations.isEmpty == true)
        await store.close()
    }

    @Test func `a store without an index has no list and no file`() async throws {
        let first = try await open()
        try await receive(["a"], by: first)
        await first.close()
        #expect(Directory.exists(indexPath))
        let store = try await open(keepsIndex: false)
        #expect(store.conversations(Store.ConversationQuery(of: BusinessID("b"))) == nil)
        #expect(store.indexPhase == .off)
        #expect(!Directory.exists(indexPath))
        await store.close()
    }

    @Test func `an index that is turned on later is built from the conversations`() async throws {
        let store = try await open(keepsIndex: false)
        try await receive(["a", "b", "c"], by: store)
        store.keepIndex(true)
        try await receive(["c"], by: store)
        await store.index.rest()
        #expect(store.indexPhase == .ready)
        #expect(try listed(store) == [digest("a"): 1, digest("b"): 1, digest("c"): 2])
        #expect(Directory.exists(indexPath))
        store.keepIndex(false)
        await store.index.rest()
        #expect(store.indexPhase == .off)
        #expect(!Directory.exists(indexPath))
        await store.close()
    }

    @Test func `a restart reads the file and no conversation`() async throws {
        let first = try await open()
        try await receive(["a", "b", "a"], by: first)
        await first.close()
        // The conversations are moved away, so the list can only come from the index's file.
        try Directory.rename(directory.path + "/conversations/b", to: directory.path + "/moved")
        // A store that records would begin both conversations anew.
        let store = try await open(recordingAs: nil)
        #expect(try listed(store) == [digest("a"): 2, digest("b"): 1])
        await store.close()
    }

    @Test func `after a kill the index has every entry`() async throws {
        let store = try await open()
        try await receive(["a", "b"], by: store)
        await store.checkpointer.run(isDue: true)
        await store.journal.flush()
        try await receive(["b", "c"], by: store)
        let copy = try directory.copy()
        try Directory.rename(
            copy.path + "/conversations/b", to: copy.path + "/moved")
        try copyOnly(["b", "c"], from: copy.path + "/moved", to: copy.path + "/conversations/b")
        let next = try await open(copy)
        await next.scheduler.finishRecordings()
        #expect(try listed(next) == [digest("a"): 1, digest("b"): 2, digest("c"): 1])
        #expect(!copy.log.lines.contains { $0.contains("index of conversations not used") })
        await next.close()
        await store.close()
        withExtendedLifetime(copy) {}
    }

    /// Copies the conversations of these customers.
    private func copyOnly(_ customers: [String], from source: String, to target: String) throws {
        for customer in customers {
            let path = ConversationPath.file(of: CustomerID(customer))
            try Directory.make(Directory.parent(of: target + "/" + path))
            try AtomicFile.write(
                try File(source + "/" + path, for: .reading).readAll(), to: target + "/" + path)
        }
    }

    @Test func `an index file that is older than the last checkpoint is not used`() async throws {
        let first = try await open()
        try await receive(["a", "b"], by: first)
        await first.close()
        let old = try File(indexPath, for: .reading).readAll()
        let second = try await open()
        try await receive(["a"], by: second)
        await second.close()
        try AtomicFile.write(old, to: indexPath)
        let store = try await open()
        #expect(try listed(store) == [digest("a"): 2, digest("b"): 1])
        #expect(directory.log.lines.contains { $0.contains("index of conversations not used") })
        await store.close()
    }

    @Test(arguments: [0, 10, 200, 400])
    func `a damaged index file is replaced by one that is built from the conversations`(_ place: Int)
        async throws
    {
        let first = try await open()
        try await receive(["a", "b", "a"], by: first)
        await first.close()
        var bytes = try File(indexPath, for: .reading).readAll()
        bytes[place] ^= 1
        try AtomicFile.write(bytes, to: indexPath)
        let store = try await open()
        #expect(try listed(store) == [digest("a"): 2, digest("b"): 1])
        await store.close()
        let again = try await open()
        #expect(try listed(again) == [digest("a"): 2, digest("b"): 1])
        await again.close()
    }

    @Test func `a conversation whose file was removed leaves the list, and the index's file`() async throws {
        let store = try await open()
        try await receive(["a", "b"], by: store)
        let name = store.conversations.name(
            of: ConversationKey(business: BusinessID("b"), customer: CustomerID("a")))
        try Directory.remove(directory.path + "/conversations/" + name.path)
        store.index.refresh(name)
        #expect(try listed(store) == [digest("b"): 1])
        await store.close()
        // This start records nothing, so the line of the message is not written again.
        let again = try await open(recordingAs: nil)
        #expect(try listed(again) == [digest("b"): 1])
        await again.close()
    }

    @Test func `a rebuild reads every conversation again`() async throws {
        let store = try await open()
        try await receive(["a", "b"], by: store)
        store.index.withIndex { index in
            index.remove(
                store.conversations.name(
                    of: ConversationKey(business: BusinessID("b"), customer: CustomerID("a"))))
        }
        #expect(try listed(store).count == 1)
        _ = try await store.rebuild()
        await store.index.rest()
        #expect(try listed(store) == inFiles(directory))
        await store.close()
    }

    @Test func `a build reads files at the allowed rate, and a stop ends it at once`() async throws {
        let first = try await open(keepsIndex: false)
        try await receive((0..<600).map { "c\($0)" }, by: first)
        await first.close()
        let store = try directory.open {
            $0.keepsIndex = true
            $0.maximumIndexedFilesPerSecond = 1
        }
        #expect(store.conversations(Store.ConversationQuery(of: BusinessID("b"))) == nil)
        if case .loading = store.indexPhase {} else { Issue.record("the index is loaded") }
        await store.close()
        let again = try await open()
        var query = Store.ConversationQuery(of: BusinessID("b"))
        query.limit = 1000
        #expect(again.conversations(query)?.conversations.count == 600)
        await again.close()
    }

    @Test func `verification finds no problem while the index is built over an outdated file`()
        async throws
    {
        let first = try await open()
        try await receive((0..<300).map { "c\($0)" }, by: first)
        await first.close()
        let old = try File(indexPath, for: .reading).readAll()
        let second = try await open()
        try await receive(["c1"], by: second)
        await second.close()
        try AtomicFile.write(old, to: indexPath)
        #expect(try problems() == ["indexUnusable"])
        let disk = RecordingDisk()
        // One file a second: the build has not ended when the files are verified.
        let store = try directory.open {
            $0.keepsIndex = true
            $0.maximumIndexedFilesPerSecond = 1
            $0.disk = disk
        }
        #expect(await eventually { !Directory.exists(indexPath) })
        if case .loading = store.indexPhase {} else { Issue.record("the index is loaded") }
        #expect(try problems() == [])
        // As after a kill: the outdated file does not come back.
        let copy = try directory.copy()
        #expect(!Directory.exists(copy.path + "/conversation-index"))
        await store.close()
        withExtendedLifetime(copy) {}
    }

    @Test func `a build that cannot read a folder leaves lists unavailable, and is repeated`() async throws {
        let first = try await open(keepsIndex: false)
        try await receive(["a", "b"], by: first)
        await first.close()
        let folder = directory.path + "/conversations/b"
        try Directory.rename(folder, to: directory.path + "/moved")
        // A symbolic link to itself exists, but cannot be opened.
        #expect(symlink(folder, folder) == 0)
        let store = try await open(recordingAs: nil)
        #expect(store.conversations(Store.ConversationQuery(of: BusinessID("b"))) == nil)
        if case .loading = store.indexPhase {} else { Issue.record("the index is ready") }
        #expect(directory.log.lines.contains { $0.contains("build of the index of conversations failed") })
        #expect(!Directory.exists(indexPath))
        try Directory.remove(folder)
        try Directory.rename(directory.path + "/moved", to: folder)
        #expect(await eventually { store.indexPhase == .ready })
        #expect(try listed(store) == [digest("a"): 1, digest("b"): 1])
        await store.close()
    }

    @Test func `one unreadable conversation is counted, and a restart does not trust the index`() async throws
    {
        let first = try await open(keepsIndex: false)
        try await receive(["a", "b"], by: first)
        await first.close()
        let name = ConversationName(digest("a"), in: ConversationPath.business(BusinessID("b")))
        let path = directory.path + "/conversations/" + name.path
        try Directory.rename(path, to: directory.path + "/moved")
        try Directory.make(path)
        let store = try await open(recordingAs: nil)
        let page = try #require(store.conversations(Store.ConversationQuery(of: BusinessID("b"))))
        #expect(page.conversations.map(\.digest) == [digest("b")])
        #expect(page.unreadable == 1)
        #expect(try store.search(Store.ConversationQuery(of: BusinessID("b")), for: "x")?.unreadable == 1)
        await store.close()
        #expect(!Directory.exists(indexPath))
        try Directory.rename(path, to: directory.path + "/empty")
        try Directory.rename(directory.path + "/moved", to: path)
        let again = try await open(recordingAs: nil)
        #expect(try listed(again) == [digest("a"): 1, digest("b"): 1])
        await again.close()
    }

    @Test func `a conversation that becomes unreadable is counted by a search, and a quarantined one too`()
        async throws
    {
        let store = try await open()
        try await receive(["a", "b", "c"], by: store)
        let folder = ConversationPath.business(BusinessID("b"))
        let paths = ["a", "b"].map { ConversationName(digest($0), in: folder).path }
        let conversations = directory.path + "/conversations/"
        try Directory.remove(conversations + paths[0])
        try Directory.make(conversations + paths[0])
        try Directory.make(Directory.parent(of: directory.path + "/damaged/" + paths[1]))
        try Directory.rename(conversations + paths[1], to: directory.path + "/damaged/" + paths[1])
        let page = try store.search(Store.ConversationQuery(of: BusinessID("b")), for: "mc")
        #expect(page?.searched == 3)
        #expect(page?.unreadable == 2)
        await store.close()
    }

    /// The problems that verification finds, without the path of the folder.
    private func problems() throws -> [String] {
        let found = Mutex<[String]>([])
        _ = try StoreVerification.run(dataDirectory: directory.path) { problem in
            found.withLock { $0.append("\(problem.kind)") }
        }
        return found.withLock { $0 }
    }

    @Test func `verification finds wrong, missing and surplus entries, and a rebuild corrects them`()
        async throws
    {
        for change in ["wrong", "missing", "surplus", "late"] {
            let store = try await open()
            try await receive(["a", "b"], by: store)
            // Lines of unfinished messages may be newer than the index's file.
            while let delivery = store.readyDelivery(for: BusinessID("b")) {
                try await store.finish(delivery, result: .unhandled)
            }
            let name = ConversationName(digest("a"), in: ConversationPath.business(BusinessID("b")))
            await store.close()
            #expect(try problems() == [], "\(change)")
            let next = try await open()
            let lines = try #require(try listed(next)[digest("a")])
            let entry = try #require(next.index.withIndex { $0.entry(of: name) })
            func line(_ sequence: Int, at: Int64, in name: ConversationName) {
                next.index.record(
                    ConversationIndex.Line(
                        at: Timestamp(milliseconds: at), kind: .text, isOutbound: false, sequence: sequence),
                    of: name)
            }
            switch change {
            case "wrong": line(lines, at: entry.milliseconds + 1, in: name)
            case "missing": next.index.withIndex { $0.remove(name) }
            case "surplus": line(1, at: 1, in: ConversationName(digest("x"), in: name.business))
            default: line(lines + 1, at: entry.milliseconds, in: name)
            }
            // A store without new records writes no checkpoint.
            await next.index.write(through: 0)
            await next.close()
            #expect(try problems() == ["indexDiffers"], "\(change)")
            let repaired = try await open()
            _ = try await repaired.rebuild()
            await repaired.index.rest()
            await repaired.close()
            #expect(try problems() == [], "\(change)")
        }
    }

    @Test func `verification finds a damaged index, one of another directory, and an outdated one`()
        async throws
    {
        let first = try await open()
        try await receive(["a"], by: first)
        await first.close()
        let old = try File(indexPath, for: .reading).readAll()
        let second = try await open()
        try await receive(["b"], by: second)
        await second.close()
        let bytes = try File(indexPath, for: .reading).readAll()
        #expect(try problems() == [])
        try AtomicFile.write(old, to: indexPath)
        #expect(try problems() == ["indexUnusable"])
        var foreign = bytes
        foreign[40] ^= 1
        try AtomicFile.write(foreign, to: indexPath)
        #expect(try problems() == ["indexUnusable"])
        try AtomicFile.write(bytes, to: indexPath)
        #expect(try problems() == [])
        // The index of an open store has lines that are not in its file yet.
        let store = try await open()
        try await receive(["a", "c"], by: store)
        #expect(try problems() == [])
        await store.close()
    }

    @Test func `an index file that has grown too large is written anew`() async throws {
        let store = try await open()
        try await receive(["a"], by: store)
        let name = store.conversations.name(
            of: ConversationKey(business: BusinessID("b"), customer: CustomerID("a")))
        for round in 1...40 {
            for number in 0..<1000 {
                let line = ConversationIndex.Line(
                    at: Timestamp(milliseconds: Int64(round)), kind: .text, isOutbound: false, sequence: round
                )
                store.index.record(
                    line,
                    of: ConversationName(ConversationDigest(of: CustomerID("\(number)")), in: name.business))
            }
            await store.index.write(through: 1)
        }
        // 40,000 entries of 48 bytes were written.
        #expect(try File(indexPath, for: .reading).sizeBytes() < 1_300_000)
        await store.close()
    }
}
