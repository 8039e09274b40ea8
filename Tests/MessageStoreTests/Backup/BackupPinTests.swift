import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// The pin of a running backup, and the changes that wait for it.
struct BackupPinTests {
    let directory = StoreDirectory()

    init() throws { try Directory.make(directory.path) }

    @Test func `a change gets no permit while a backup has pinned the files, and gets one afterwards`()
        async throws
    {
        do {
            let pin = try await BackupPin(dataDirectory: directory.path)
            #expect(try FileChangePermit(dataDirectory: directory.path) == nil)
            withExtendedLifetime(pin) {}
        }
        #expect(try FileChangePermit(dataDirectory: directory.path) != nil)
    }

    @Test func `two changes have a permit at once`() throws {
        let first = try FileChangePermit(dataDirectory: directory.path)
        let second = try FileChangePermit(dataDirectory: directory.path)
        withExtendedLifetime((first, second)) { #expect(first != nil && second != nil) }
    }

    @Test func `a second backup is refused and names the process of the first`() async throws {
        let pin = try await BackupPin(dataDirectory: directory.path)
        await #expect {
            _ = try await BackupPin(dataDirectory: directory.path)
        } throws: {
            guard case .backupRunning(let process?) = $0 as? StoreError else { return false }
            return process > 0
        }
        withExtendedLifetime(pin) {}
    }

    @Test func `a backup is refused when a change does not end within its patience`() async throws {
        let permit = try FileChangePermit(dataDirectory: directory.path)
        await #expect(throws: StoreError.filesChanging) {
            _ = try await BackupPin(dataDirectory: directory.path, patience: .zero)
        }
        withExtendedLifetime(permit) {}
    }

    @Test(arguments: [(21_599, false), (21_600, true)])
    func `a change ignores a pin from the age of six hours on`(_ age: Int, _ isPermitted: Bool) async throws {
        let pin = try await BackupPin(dataDirectory: directory.path)
        let path = DataDirectory(path: directory.path).backupLock
        try FileStatus.setModified(path, secondsSince1970: 1_000_000)
        #expect(try (FileChangePermit(path: path, now: 1_000_000 + age) != nil) == isPermitted)
        withExtendedLifetime(pin) {}
    }

    @Test func `retention keeps expired segments while a backup has pinned them`() async throws {
        let store = try directory.open {
            $0.maximumSegmentAge = .zero
            $0.deduplicationWindow = .zero
            $0.checkpointInterval = .seconds(3600)
        }
        #expect(await store.append(message("1", from: CustomerID("c"))) == .stored)
        let segment = try #require(try directory.segments().last)
        try await store.finish(try await store.lease(), result: .handled)
        await store.journal.flush()
        do {
            let pin = try await BackupPin(dataDirectory: directory.path)
            await store.retention.run()
            #expect(try directory.segments().contains(segment))
            withExtendedLifetime(pin) {}
        }
        await store.retention.run()
        #expect(try !directory.segments().contains(segment))
        await store.close()
    }
}
