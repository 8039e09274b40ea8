import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// A backup and its restoration, without and beside an open store.
struct BackupTests {
    private typealias Fixture = ErasureFixture

    /// An archive in memory.
    private final class Archive: Sendable {
        private let content: Mutex<[UInt8]>

        init(_ bytes: [UInt8] = []) { content = Mutex(bytes) }

        var bytes: [UInt8] { content.withLock { $0 } }

        func append(_ piece: [UInt8]) { content.withLock { $0 += piece } }

        /// A source that returns the archive in small pieces.
        func source() -> (Int) throws(SystemError) -> [UInt8] {
            let position = Atomic(0)
            let bytes = bytes
            return { maximum throws(SystemError) in
                let start = position.load(ordering: .relaxed)
                let piece = Array(bytes[start..<min(bytes.count, start + min(maximum, 1000))])
                position.add(piece.count, ordering: .relaxed)
                return piece
            }
        }
    }

    private let target = StoreDirectory()

    private func backUp(_ directory: StoreDirectory) async throws -> (archive: Archive, report: Backup.Report)
    {
        let archive = Archive()
        let report = try await Backup.write(of: directory.path, .init(), program: "test") {
            piece throws(SystemError) in archive.append(piece)
        }
        return (archive, report)
    }

    @discardableResult
    private func restore(
        _ archive: Archive, ledger: String? = nil, delivers: Bool = false
    ) async throws -> Restoration.Report {
        var options = Restoration.Options()
        options.ledger = try ledger.flatMap { try ErasureLedger($0) }
        options.ledgerPath = ledger ?? ""
        options.delivers = delivers
        return try await Restoration.run(
            from: archive.source(), into: target.path, options, logger: target.log.logger)
    }

    private func verify() throws {
        _ = try StoreVerification.run(dataDirectory: target.path) { Issue.record("\($0)") }
    }

    /// The relative paths of all files, without those that a backup leaves out.
    private func paths(in directory: StoreDirectory, below folder: String = "") throws -> [String] {
        try Directory.names(in: directory.path + "/" + folder).flatMap { name in
            let path = folder.isEmpty ? name : folder + "/" + name
            return Directory.isDirectory(directory.path + "/" + path)
                ? try paths(in: directory, below: path) : [path]
        }
    }

    @Test func `a restored directory has the same conversations, states, payments and attachments`()
        async throws
    {
        let fixture = try await Fixture()
        let (archive, report) = try await backUp(fixture.directory)
        #expect(report.missingContents == 0)
        let restored = try await restore(archive)
        #expect(restored.manifest == report.manifest)
        try verify()
        for path in try paths(in: fixture.directory) {
            let source = try File(fixture.directory.path + "/" + path, for: .reading).readAll()
            switch path.split(separator: "/").first {
            case "conversations", "states", "assignments", "payments", "attachments", "damaged":
                // An unfinished replacement is not copied.
                guard !path.hasSuffix(".new") else { continue }
                #expect(try File(target.path + "/" + path, for: .reading).readAll() == source, "\(path)")
                #expect(try FileStatus.ownerAndMode(of: target.path + "/" + path).mode == 0o600)
            case "requests", "handlers": #expect(!Directory.exists(target.path + "/" + path), "\(path)")
            default: break
            }
        }
        #expect(!Directory.exists(target.path + "/restoring"))
        #expect(try fixture.otherEvents() == Fixture(target).otherEvents())
    }

    @Test func `a backup without a message is restored`() async throws {
        let empty = StoreDirectory()
        try await empty.open().close()
        let (archive, report) = try await backUp(empty)
        #expect(report.manifest.record == 0)
        try await restore(archive)
        let store = try target.open()
        #expect(await store.append(message("1", from: CustomerID("c"))) == .stored)
        await store.close()
    }

    @Test func `a restored store has another identity, knows the old messages, and continues their numbers`()
        async throws
    {
        let fixture = try await Fixture()
        let before = try fixture.open()
        let identity = before.identity
        await before.close()
        let (archive, report) = try await backUp(fixture.directory)
        try await restore(archive)
        let store = try target.open()
        #expect(store.identity != identity && store.identity.utf8.count == 32)
        #expect(await store.append(message("o-1", from: Fixture.other)) == .duplicate)
        #expect(await store.append(message("new", from: Fixture.other)) == .stored)
        #expect(store.journal.lastRecord > report.manifest.record)
        await store.close()
    }

    @Test(arguments: [false, true])
    func `unfinished messages and replies are parked, unless they shall be delivered`(
        _ delivers: Bool
    ) async throws {
        let fixture = try await Fixture()
        let (archive, report) = try await backUp(fixture.directory)
        try await restore(archive, delivers: delivers)
        let store = try target.open()
        #expect(store.statistics.pendingDeliveries == 1)
        #expect(store.statistics.queuedReplies == 1)
        let isParked = store.reasonToPark(report.manifest.record) != nil
        #expect(isParked == !delivers)
        #expect(store.reasonToPark(report.manifest.record + 1) == nil)
        await store.close()
    }

    @Test func `customers that were erased after the backup are erased again`() async throws {
        let fixture = try await Fixture()
        let (archive, _) = try await backUp(fixture.directory)
        _ = try Store.erase([Fixture.forgotten], in: fixture.directory.path, .init())
        let ledger = fixture.directory.path + "/erasures.jsonl"
        let report = try await restore(archive, ledger: ledger)
        #expect(report.erased.conversations == 2)
        #expect(try Fixture(target).traces() == [])
        try verify()
        // The restored server continues the ledger.
        #expect(try ErasureLedger(target.path + "/erasures.jsonl")?.bytes == ErasureLedger(ledger)?.bytes)
    }

    @Test
    func `a restoration keeps the lines of payments that the erasure kept, and those of later payments`()
        async throws
    {
        for keeps in [true, false] {
            let fixture = try await Fixture()
            let path = "/payments/shop/payments-2026-11-21.jsonl"
            let hash = Hex.encode(SHA256.hash(Fixture.forgotten.rawValue.utf8))
            let later = Array("{\"at\":\"2126-11-21T10:00:00.000Z\",\"customer\":\"\(hash)\"}\n".utf8)
            let before = try File(fixture.directory.path + path, for: .reading).readAll()
            try AtomicFile.write(before + later, to: fixture.directory.path + path)
            let (archive, _) = try await backUp(fixture.directory)
            var settings = CustomerErasure.Settings()
            settings.keepsPayments = keeps
            _ = try Store.erase([Fixture.forgotten], in: fixture.directory.path, settings)
            let restored = StoreDirectory()
            var options = Restoration.Options()
            options.ledger = try ErasureLedger(fixture.directory.path + "/erasures.jsonl")
            _ = try await Restoration.run(
                from: archive.source(), into: restored.path, options, logger: restored.log.logger)
            let lines = try File(restored.path + path, for: .reading).readAll()
                .split(separator: UInt8(ascii: "\n"))
            #expect(lines.count == (keeps ? 3 : 2))
        }
    }

    @Test func `an erasure in a restored directory counts when the same backup is restored again`()
        async throws
    {
        let fixture = try await Fixture()
        let (archive, _) = try await backUp(fixture.directory)
        let first = StoreDirectory()
        var options = Restoration.Options()
        options.ledger = try ErasureLedger(fixture.directory.path + "/erasures.jsonl")
        _ = try await Restoration.run(
            from: archive.source(), into: first.path, options, logger: first.log.logger)
        _ = try Store.erase([Fixture.forgotten], in: first.path, .init())
        try await restore(archive, ledger: first.path + "/erasures.jsonl")
        #expect(try Fixture(target).traces() == [])
    }

    @Test func `a ledger that does not know the backup is refused, and nothing opens the directory`()
        async throws
    {
        let fixture = try await Fixture()
        let (archive, _) = try await backUp(fixture.directory)
        let old = StoreDirectory()
        try Directory.make(old.path)
        try AtomicFile.write(ErasureLedger().bytes, to: old.path + "/erasures.jsonl")
        await #expect(throws: BackupError.ledgerOlder(path: old.path + "/erasures.jsonl")) {
            try await restore(archive, ledger: old.path + "/erasures.jsonl")
        }
        #expect(throws: StoreError.restoreUnfinished(path: target.path)) { _ = try target.open() }
        #expect(throws: StoreError.restoreUnfinished(path: target.path)) { try Store.check(target.path) }
        await #expect(throws: BackupError.notEmpty(path: target.path)) { try await restore(archive) }
    }

    @Test func `lines and states that the journal has and the copied files lack are written`() async throws {
        let fixture = try await Fixture()
        // The conversations as they were before the last steps, beside the whole journal.
        let conversation = fixture.path(of: Fixture.other)
        let lines = try File(conversation, for: .reading).readAll()
        let state = fixture.path(of: Fixture.other, in: "states").dropLast()
        let decided = try File(String(state), for: .reading).readAll()
        try Directory.remove(conversation)
        try Directory.remove(String(state))
        let (archive, _) = try await backUp(fixture.directory)
        try await restore(archive)
        let path = { (source: String) in target.path + source.dropFirst(fixture.directory.path.count) }
        #expect(
            String(decoding: try File(path(conversation), for: .reading).readAll(), as: UTF8.self)
                == String(decoding: lines, as: UTF8.self))
        #expect(try File(path(String(state)), for: .reading).readAll() == decided)
        try verify()
    }

    @Test func `an archive that ends early, or has a changed byte, is refused`() async throws {
        let fixture = try await Fixture()
        let (archive, _) = try await backUp(fixture.directory)
        let bytes = archive.bytes
        for count in [0, 100, 512, 4096, bytes.count / 2, bytes.count - 2048] {
            await #expect(throws: BackupError.self, "\(count)") {
                try await restore(Archive(Array(bytes.prefix(count))))
            }
            try remove(target.path)
        }
        // A byte of a conversation's content, behind the first header.
        var changed = bytes
        changed[600] ^= 1
        await #expect {
            try await restore(Archive(changed))
        } throws: {
            guard case .differs(let path)? = $0 as? BackupError else { return false }
            return path.hasPrefix("conversations/")
        }
    }

    @Test func `a backup beside a store has every message that was answered before, and the store continues`()
        async throws
    {
        let source = StoreDirectory()
        let store = try source.open { $0.maximumSegmentBytes = 4000 }
        for number in 1...50 {
            _ = await store.append(message("m-\(number)", from: CustomerID("c-\(number % 7)")))
        }
        let archive = Archive()
        let writing = Task {
            for number in 51...400 {
                _ = await store.append(message("m-\(number)", from: CustomerID("c-\(number % 7)")))
            }
        }
        _ = try await Backup.write(of: source.path, .init(), program: "test") {
            piece throws(SystemError) in archive.append(piece)
        }
        await writing.value
        await store.close()
        try await restore(archive)
        try verify()
        let found = Set(try JournalFiles(dataDirectory: target.path).events { _ in true }.map(\.id.rawValue))
        for number in 1...50 { #expect(found.contains("m-\(number)")) }
    }

    @Test func `while a backup runs, its ledger has its line and the sink's error ends it`() async throws {
        let fixture = try await Fixture()
        await #expect(throws: BackupError.unwritten(SystemError("write", code: 28))) {
            _ = try await Backup.write(of: fixture.directory.path, .init(), program: "test") {
                _ throws(SystemError) in throw SystemError("write", code: 28)
            }
        }
        // The pin is released.
        #expect(try FileChangePermit(dataDirectory: fixture.directory.path) != nil)
    }

    private func remove(_ path: String) throws {
        for name in try Directory.names(in: path) {
            let inner = path + "/" + name
            if Directory.isDirectory(inner) {
                try remove(inner)
            } else {
                try Directory.remove(inner)
            }
        }
        try Directory.removeEmpty(path)
    }
}
