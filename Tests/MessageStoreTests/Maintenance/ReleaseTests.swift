import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// The data directories of releases.
///
/// Each `data-directories/release-…` is what that release's `balloon dev` left when it was killed after `balloon simulate`: three
/// conversations, with an attachment, a resolved reference, replies, one retried reply, a closed conversation, and a message whose delivery
/// had just ended. Only `lock`, `dev.json` and most of the blank lines of the journal are removed.
struct ReleaseTests {
    private static let releases = ["0.2.0"]

    private let directory = StoreDirectory()

    private func copy(_ release: String) throws {
        try copyTree(Fixture.directory + "/data-directories/release-\(release)", to: directory.path)
    }

    private func lines(in directory: StoreDirectory) throws -> [String: [UInt8]] {
        let root = directory.path + "/conversations"
        var found: [String: [UInt8]] = [:]
        for business in try Directory.names(in: root) {
            for folder in try Directory.names(in: root + "/" + business) {
                for name in try Directory.names(in: root + "/\(business)/\(folder)") {
                    let path = "\(business)/\(folder)/\(name)"
                    found[path] = try File(root + "/" + path, for: .reading).readAll()
                }
            }
        }
        return found
    }

    @Test(arguments: releases)
    func `the directory of a release is opened with the same conversations, and has the new version then`(
        _ release: String
    ) async throws {
        try copy(release)
        let before = try lines(in: directory)
        #expect(before.count == 3)
        for _ in 1...2 {
            let store = try directory.open()
            #expect(store.journalDamage.isEmpty)
            #expect(store.statistics.pendingDeliveries == 0)
            await store.close()
            #expect(try lines(in: directory) == before)
            let version = try File(directory.path + "/VERSION", for: .reading).readAll()
            #expect(version == Array("3\n".utf8))
        }
        let verification = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(verification.conversations == 3 && verification.comparedLines > 0)
        // Every message of the release is known to the deduplication.
        let store = try directory.open()
        for event in try JournalFiles(dataDirectory: directory.path).events(where: { _ in true }) {
            let repeated = ReceivedMessage(
                business: event.business, customer: event.customer, id: event.id, message: Array("{}".utf8))
            #expect(await store.append(repeated) == .duplicate)
        }
        await store.close()
    }

    @Test(arguments: releases)
    func `a directory of a release is backed up before it is migrated, and restored`(
        _ release: String
    ) async throws {
        try copy(release)
        let archive = Mutex<[UInt8]>([])
        let report = try await Backup.write(of: directory.path, .init(), program: "test") {
            piece throws(SystemError) in archive.withLock { $0 += piece }
        }
        #expect(report.missingContents == 0)
        // The backup changed nothing that the release reads.
        #expect(try File(directory.path + "/VERSION", for: .reading).readAll() == Array("1\n".utf8))
        let target = StoreDirectory()
        let bytes = archive.withLock { $0 }
        let position = Atomic(0)
        _ = try await Restoration.run(
            from: { maximum throws(SystemError) in
                let start = position.load(ordering: .relaxed)
                let piece = Array(bytes[start..<min(bytes.count, start + maximum)])
                position.add(piece.count, ordering: .relaxed)
                return piece
            }, into: target.path, Restoration.Options(), logger: target.log.logger)
        #expect(try lines(in: target) == lines(in: directory))
        _ = try StoreVerification.run(dataDirectory: target.path) { Issue.record("\($0)") }
    }
}
