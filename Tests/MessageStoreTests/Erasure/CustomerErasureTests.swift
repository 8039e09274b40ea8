import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// Forgetting a customer while no server runs.
struct CustomerErasureTests {
    private typealias Fixture = ErasureFixture

    private func erase(_ fixture: Fixture, keepsPayments: Bool = false) throws -> CustomerErasure.Report {
        var settings = CustomerErasure.Settings()
        settings.keepsPayments = keepsPayments
        return try Store.erase([Fixture.forgotten], in: fixture.directory.path, settings)
    }

    private func verify(_ fixture: Fixture) throws {
        _ = try StoreVerification.run(dataDirectory: fixture.directory.path) { Issue.record("\($0)") }
    }

    @Test func `nothing of an erased customer is left, and another conversation is unchanged`() async throws {
        let fixture = try await Fixture()
        let conversation = try File(fixture.path(of: Fixture.other), for: .reading).readAll()
        let events = try fixture.otherEvents()
        #expect(try fixture.directory.segments().count > 3)
        #expect(try fixture.traces().count > 8)

        let report = try erase(fixture)

        #expect(report.conversations == 2)
        #expect(report.contents == 1)
        #expect(report.unreached.isEmpty)
        #expect(try fixture.traces() == [])
        #expect(try File(fixture.path(of: Fixture.other), for: .reading).readAll() == conversation)
        #expect(try fixture.otherEvents() == events)
        #expect(!Directory.exists(fixture.path(ofContent: fixture.ownContent)))
        let folder = Directory.parent(of: fixture.path(ofContent: fixture.ownContent))
        #expect(try !Directory.names(in: folder).contains { $0.hasPrefix(fixture.hash(fixture.ownContent)) })
        #expect(Directory.exists(fixture.path(ofContent: fixture.sharedContent)))
        try verify(fixture)
    }

    @Test func `an erased record keeps its number, its batch, its length and its kind`() async throws {
        let fixture = try await Fixture()
        let segments = try fixture.directory.segments()
        let before = try segments.map { try fixture.directory.lines($0) }
        _ = try erase(fixture)
        let after = try segments.map { try fixture.directory.lines($0) }
        #expect(before.map { $0.map(\.count) } == after.map { $0.map(\.count) })
        var types: Set<String> = []
        for (old, new) in zip(before.flatMap(\.self), after.flatMap(\.self)) where old != new {
            let (old, new) = (try JSONDocument(old).root, try JSONDocument(new).root)
            #expect(old["record"]?.int == new["record"]?.int)
            #expect(old["batch"]?.int == new["batch"]?.int)
            #expect(new["type"]?.string == "erased")
            #expect(new["was"]?.string == old["type"]?.string)
            #expect(new["of"]?.int == old["of"]?.int)
            types.insert(try #require(new["was"]?.string))
        }
        #expect(types == ["message", "files", "outcome", "reply", "finished"])
    }

    @Test
    func `a repeated message of an erased customer is a duplicate, and nothing of the customer is delivered`()
        async throws
    {
        let fixture = try await Fixture()
        _ = try erase(fixture)
        for _ in 1...2 {
            let store = try fixture.open()
            #expect(await store.append(message("id-77-1", from: Fixture.forgotten)) == .duplicate)
            #expect(await store.append(message("id-77-5", from: Fixture.forgotten)) == .duplicate)
            #expect(store.statistics.pendingDeliveries == 0)
            #expect(store.statistics.queuedReplies == 0)
            #expect(try await store.state(of: business, Fixture.forgotten) == nil)
            #expect(try await store.state(of: business, Fixture.other) != nil)
            // The second start reads a snapshot.
            await store.close()
        }
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }

    @Test func `an erased customer may write again and begins a new conversation`() async throws {
        let fixture = try await Fixture()
        _ = try erase(fixture)
        let store = try fixture.open()
        #expect(await store.append(message("new", from: Fixture.forgotten)) == .stored)
        try await store.finish(try await store.lease(), result: .handled)
        await store.close()
        let lines = try ConversationFiles(dataDirectory: fixture.directory.path).lines(
            of: business, Fixture.forgotten)
        #expect(lines.map(\.id) == [MessageID("new")])
        try verify(fixture)
    }

    @Test func `an erasure that a crash ends before any change of a file is completed by the next start`()
        async throws
    {
        let original = try await Fixture()
        let whole = CustomerErasure(
            DataDirectory(path: original.directory.path), CustomerErasure.Settings())
        let scope = try whole.find([Fixture.forgotten])
        let conversation = try File(original.path(of: Fixture.other), for: .reading).readAll()
        var stop = 0
        while true {
            let fixture = try original.copy()
            var erasure = CustomerErasure(
                DataDirectory(path: fixture.directory.path), CustomerErasure.Settings())
            erasure.files = stopping(after: stop)
            // The error of the last change is what a crash would end.
            var isComplete = true
            do throws(StoreError) { _ = try erasure.run(scope) } catch { isComplete = false }
            let store = try fixture.open()
            await store.close()
            // Before the first change not even the intent is on disk.
            #expect(try fixture.traces().isEmpty == (stop > 0), "after \(stop) changes")
            let ledger = try ErasureLedger(fixture.directory.path + "/erasures.jsonl")
            #expect(ledger?.entries.count == (stop > 0 ? 2 : nil))
            #expect(try File(fixture.path(of: Fixture.other), for: .reading).readAll() == conversation)
            #expect(!Directory.exists(fixture.directory.path + "/erasing"))
            if isComplete { break }
            stop += 1
        }
        #expect(stop > 20)
    }

    /// Files whose changes fail after this many.
    private func stopping(after maximum: Int) -> DataFiles {
        let changes = ChangeCount()
        var files = DataFiles()
        files.willChange = { _ throws(SystemError) in
            if changes.next() > maximum { throw SystemError("killed", code: 5) }
        }
        return files
    }

    @Test
    func `the ledger erases a customer from an older copy, and nothing of a later one or of another store`()
        async throws
    {
        let fixture = try await Fixture()
        let copy = try fixture.copy()
        _ = try erase(fixture)
        let path = fixture.directory.path + "/erasures.jsonl"
        let ledger = try #require(try ErasureLedger(path))
        #expect(ledger.entries.count == 2)
        let identity = DataDirectory(path: fixture.directory.path).identityInFile()
        let erasedAt = try #require(ledger.entries.first).at
        func apply(to fixture: ErasureFixture, store: String, at: Timestamp) throws -> CustomerErasure.Report
        {
            let manifest = BackupManifest(
                id: "", store: store, version: "2", record: 1000, at: at, program: "", files: 0, bytes: 0,
                sumsHash: "")
            return try CustomerErasure(DataDirectory(path: fixture.directory.path), .init()).apply(
                ledger, to: manifest)
        }
        let before = erasedAt.advanced(by: .seconds(-1))
        let after = erasedAt.advanced(by: .seconds(1))

        let later = try await Fixture()
        #expect(try apply(to: later, store: "another", at: after).conversations == 0)
        #expect(try later.traces() != [])

        #expect(try apply(to: copy, store: identity, at: after).conversations == 2)
        #expect(try copy.traces() == [])
        try verify(copy)

        // The other store was restored from this backup, and erased the customer then.
        #expect(try apply(to: later, store: "another", at: before).conversations == 2)
        #expect(try later.traces() == [])
    }

    @Test func `entries that are older than the ledger's days are removed by the next erasure`() throws {
        var ledger = ErasureLedger()
        let scope = ErasureScope(
            [ErasedConversation(business: "b", customer: Fixture.forgotten)], through: 7)
        let start = Timestamp(milliseconds: 1_700_000_000_000)
        ledger.add(scope, in: "s", at: start, keepingDays: 30)
        ledger.add(scope, in: "s", at: start, keepingDays: 30)
        #expect(ledger.entries.count == 1)
        let later = ErasureScope(scope.conversations, through: 9)
        ledger.add(later, in: "s", at: start.advanced(by: .seconds(30 * 86_400 + 1)), keepingDays: 30)
        #expect(ledger.entries.map(\.through) == [9])
    }

    @Test func `lines of payments after the erasure stay`() async throws {
        let fixture = try await Fixture()
        let path = fixture.directory.path + "/payments/shop/payments-2026-11-21.jsonl"
        let hash = Hex.encode(SHA256.hash(Fixture.forgotten.rawValue.utf8))
        let later = Array("{\"at\":\"2126-11-21T10:00:00.000Z\",\"customer\":\"\(hash)\"}\n".utf8)
        let before = try File(path, for: .reading).readAll()
        try AtomicFile.write(before + later, to: path)
        _ = try erase(fixture)
        let lines = try File(path, for: .reading).readAll().split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 2)
        #expect(lines.last.map { Array($0) + [UInt8(ascii: "\n")] } == later)
    }

    @Test func `a ledger that cannot be written refuses the erasure, and the next start is not affected`()
        async throws
    {
        let fixture = try await Fixture()
        let traces = try fixture.traces()
        var settings = CustomerErasure.Settings()
        settings.ledger = fixture.directory.path + "/nowhere/erasures.jsonl"
        #expect(throws: StoreError.self) {
            try Store.erase([Fixture.forgotten], in: fixture.directory.path, settings)
        }
        #expect(!Directory.exists(fixture.directory.path + "/erasing"))
        #expect(try fixture.traces() == traces)
        try await fixture.open().close()
        _ = try erase(fixture)
        #expect(try fixture.traces() == [])
    }

    @Test
    func
        `a start with an unfinished erasure whose ledger cannot be used opens the store, and the next one completes it`()
        async throws
    {
        let fixture = try await Fixture()
        let directory = DataDirectory(path: fixture.directory.path)
        let elsewhere = fixture.directory.path + "-ledger"
        try Directory.make(elsewhere)
        defer { try? Directory.remove(elsewhere + "/erasures.jsonl") }
        var settings = CustomerErasure.Settings()
        settings.ledger = elsewhere + "/erasures.jsonl"
        let erasure = CustomerErasure(directory, settings)
        try erasure.begin(erasure.find([Fixture.forgotten]))
        // The volume of the ledger is not mounted.
        try Directory.rename(elsewhere + "/erasures.jsonl", to: elsewhere + "/aside")
        let store = try fixture.open { $0.erasures = settings }
        #expect(await store.append(message("new", from: Fixture.other)) == .stored)
        await store.close()
        #expect(Directory.exists(directory.erasing))
        #expect(throws: StoreError.ledgerMissing(path: settings.ledger ?? "")) {
            try Store.erase([Fixture.other], in: fixture.directory.path, settings)
        }
        try Directory.rename(elsewhere + "/aside", to: elsewhere + "/erasures.jsonl")
        try await fixture.open { $0.erasures = settings }.close()
        #expect(!Directory.exists(directory.erasing))
        #expect(try fixture.traces() == [])
        try verify(fixture)
    }

    @Test
    func
        `an unfinished erasure is postponed while the settings name no known ledger, and uses a ledger that was moved`()
        async throws
    {
        let fixture = try await Fixture()
        let directory = DataDirectory(path: fixture.directory.path)
        let erasure = CustomerErasure(directory, CustomerErasure.Settings())
        try erasure.begin(erasure.find([Fixture.forgotten]))
        var settings = CustomerErasure.Settings()
        settings.ledger = fixture.directory.path + "/moved.jsonl"
        // Nothing has been erased: a restoration would not know.
        try await fixture.open { $0.erasures = settings }.close()
        #expect(Directory.exists(directory.erasing))
        try Directory.rename(directory.erasures, to: fixture.directory.path + "/moved.jsonl")
        try await fixture.open { $0.erasures = settings }.close()
        #expect(!Directory.exists(directory.erasing))
        #expect(try fixture.traces() == [])
    }

    @Test func `an erasure that also removes payments replaces the entry of one that kept them`() async throws
    {
        let fixture = try await Fixture()
        let name = try #require(try erase(fixture, keepsPayments: true).ledgerNames.first)
        let path = fixture.directory.path + "/erasures.jsonl"
        var ledger = try #require(try ErasureLedger(path))
        let entry = try #require(ledger.entries.first { $0.conversation == name })
        #expect(entry.keepsPayments)
        let scope = ErasureScope(
            [ErasedConversation(business: "b", customer: Fixture.forgotten)], through: entry.through)
        ledger.add(scope, in: entry.store, at: entry.at.advanced(by: .seconds(60)), keepingDays: nil)
        let again = ledger.entries.filter { $0.conversation == ledger.name(of: scope.conversations.first!) }
        #expect(again.map(\.keepsPayments) == [false])
        #expect(again.first?.at == entry.at.advanced(by: .seconds(60)))
    }

    @Test func `a ledger with another key is refused`() async throws {
        let fixture = try await Fixture()
        #expect(
            try Store.erase([Fixture.forgotten], in: fixture.directory.path, .init()).ledgerNames.count == 2)
        let path = fixture.directory.path + "/erasures.jsonl"
        try AtomicFile.write(ErasureLedger().bytes, to: path)
        #expect(throws: StoreError.otherLedger(path: path)) {
            try Store.erase([Fixture.other], in: fixture.directory.path, .init())
        }
        try Directory.remove(path)
        #expect(throws: StoreError.ledgerMissing(path: path)) {
            try Store.erase([Fixture.other], in: fixture.directory.path, .init())
        }
        // The operator confirms that the ledger is lost.
        try Directory.remove(fixture.directory.path + "/ledger-mark")
        #expect(try Store.erase([Fixture.other], in: fixture.directory.path, .init()).conversations == 1)
    }

    @Test func `a start completes an erasure with the contents that came after its job was written`()
        async throws
    {
        let fixture = try await Fixture()
        let directory = DataDirectory(path: fixture.directory.path)
        let erasure = CustomerErasure(directory, CustomerErasure.Settings())
        let found = try erasure.find([Fixture.forgotten])
        // The job of the first phase, from before the records that a download and a handler wrote.
        let early = ErasureScope(
            found.conversations, through: found.through, subjects: found.subjects, contents: [])
        let earlyRecord = try #require(early.subjects.min())
        try erasure.begin(
            ErasureScope(early.conversations, through: earlyRecord, subjects: [earlyRecord]))
        try await fixture.open().close()
        #expect(!Directory.exists(fixture.path(ofContent: fixture.ownContent)))
        #expect(Directory.exists(fixture.path(ofContent: fixture.sharedContent)))
    }

    @Test func `lines of payments stay when they are to be kept`() async throws {
        let fixture = try await Fixture()
        let path = fixture.directory.path + "/payments/shop/payments-2026-11-21.jsonl"
        let before = try File(path, for: .reading).readAll()
        _ = try erase(fixture, keepsPayments: true)
        #expect(try File(path, for: .reading).readAll() == before)
        #expect(try fixture.traces() == [path])
    }

    @Test func `quarantined segments are listed and not changed`() async throws {
        let fixture = try await Fixture()
        let path = fixture.directory.journal + "/000000000099.jsonl.unreadable"
        try AtomicFile.write(Array("SECRET-77".utf8), to: path)
        #expect(try erase(fixture).unreached == [path])
        #expect(try fixture.traces() == [path])
    }

    @Test func `a preview counts what would be erased and changes nothing`() async throws {
        let fixture = try await Fixture()
        let before = try fixture.traces()
        let report = try Store.previewErasure(
            of: [Fixture.forgotten, CustomerID("unknown")], in: fixture.directory.path)
        #expect(report.conversations == 2)
        #expect(report.records == 5)
        #expect(report.contents == 2)
        #expect(try fixture.traces() == before)
    }
}

private final class ChangeCount: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
