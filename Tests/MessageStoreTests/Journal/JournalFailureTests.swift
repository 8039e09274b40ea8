import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

struct JournalFailureTests {
    let directory = StoreDirectory()

    @Test func `after a failed sync the store probes the disk by itself until it works again`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open {
            $0.disk = disk
            $0.probeInterval = .milliseconds(1)
        }
        #expect(await store.append(message("a")) == .stored)
        disk.fail(.synchronize)
        #expect(await store.append(message("b")) != .stored)
        #expect(store.statistics.lastSyncFailure != nil)
        disk.recover()
        #expect(await eventually { store.statistics.lastSyncFailure == nil })
        let restarted = try directory.copy()
        let copy = try restarted.open()
        #expect(await copy.append(message("a")) == .duplicate)
        #expect(await copy.append(message("b")) == .stored)
        await copy.close()
        await store.close()
    }

    @Test
    func `after a failed sync the next segment abandons the failed records, and no restart restores them`()
        async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        #expect(await store.append(message("m1")) == .stored)
        let sound = try File(directory.journal + "/000000000001.jsonl", for: .reading).readAll()
        disk.fail(.synchronize)
        _ = await store.append(message("m2"))
        disk.recover()
        #expect(await store.append(message("m3")) == .stored)

        #expect(try directory.segments() == ["000000000001.jsonl", "000000000004.jsonl"])
        #expect(try File(directory.journal + "/000000000001.jsonl", for: .reading).readAll() == sound)
        let abandoned = try #require(directory.records("abandoned").first)
        #expect(abandoned["record"]?.int == 5)
        #expect(abandoned["from"]?.int == 3)
        #expect(abandoned["to"]?.int == 3)

        // The truncation may have failed as well, or not have reached the disk.
        let copy = try directory.copy()
        try copy.write(sound + journalLine(3, batch: 3, messageMembers("m2")), to: "000000000001.jsonl")
        // No stored record is lost.
        #expect(try JournalFiles(dataDirectory: copy.path).events { _ in true }.count == 2)
        let reopened = try copy.open()
        #expect(reopened.statistics.pendingDeliveries == 2)
        #expect(try await reopened.lease().id == MessageID("m1"))
        #expect(await reopened.append(message("m2")) == .stored)
        #expect(await reopened.append(message("m3")) == .duplicate)
    }

    @Test func `a segment whose first batch failed leaves no file, and its record numbers stay unused`()
        async throws
    {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        #expect(await store.append(message("m1")) == .stored)
        disk.fail(.append)
        for number in 2...4 { _ = await store.append(message("m\(number)")) }
        #expect(try directory.segments() == ["000000000001.jsonl"])
        disk.recover()
        #expect(await store.append(message("m5")) == .stored)
        let abandoned = try #require(directory.records("abandoned").first)
        #expect(abandoned["from"]?.int == 3)
        #expect((abandoned["to"]?.int ?? 0) + 2 == abandoned["record"]?.int)
        let copy = try directory.copy()
        // No stored record is lost.
        #expect(try JournalFiles(dataDirectory: copy.path).events { _ in true }.count == 2)
        let reopened = try copy.open()
        #expect(reopened.statistics.pendingDeliveries == 2)
        #expect(await reopened.append(message("m2")) == .stored)
    }

    @Test func `appends to a full disk fail fast, and the store resumes when space is free`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        disk.fail(.create)
        for number in 1...3 {
            #expect(
                await store.append(message("m\(number)"))
                    == .failed(.notDurable(SystemError("open", code: 28))))
        }
        #expect(store.statistics.pendingDeliveries == 0)
        #expect(store.statistics.indexedMessages == 0)
        disk.recover()
        for number in 1...3 { #expect(await store.append(message("m\(number)")) == .stored) }
        #expect(store.statistics.pendingDeliveries == 3)
    }

    @Test func `the lazy records of a failed batch are written with a later batch`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open {
            $0.disk = disk
            // With this delay, lazy records are written only with another batch.
            $0.lazyDelay = .seconds(3600)
        }
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
        disk.fail(.synchronize)
        _ = await store.append(message("m2"))
        #expect(try directory.records("finished").isEmpty)
        disk.recover()
        #expect(await store.append(message("m3")) == .stored)
        #expect(try directory.records("finished").map { $0["of"]?.int } == [2])
    }

    @Test func `an outcome that did not reach the disk does not count as decided`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        disk.fail(.synchronize)
        await #expect(throws: StoreError.notDurable(SystemError("fdatasync", code: 5))) {
            try await store.decide(delivery, DecidedOutcome(.handled))
        }
        disk.recover()
        try await store.decide(delivery, DecidedOutcome(.rejected(reason: "no")))
        await #expect(throws: StoreError.alreadyDecided(record: delivery.record)) {
            try await store.decide(delivery, DecidedOutcome(.handled))
        }
        store.postpone(delivery, after: .zero)
        #expect(try await store.lease().decided == DecidedOutcome(.rejected(reason: "no")))
    }

    @Test func `lazy records are written soon when no other records arrive`() async throws {
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        _ = await store.append(message("m1"))
        try await store.finish(store.lease(), result: .failed(reason: "no attempts left"))
        #expect(await eventually { disk.count >= 2 })
        let finished = try #require(directory.records("finished").first)
        #expect(finished["result"]?.string == "failed")
        #expect(finished["reason"]?.string == "no attempts left")
        #expect(finished["kind"]?.string == "text")
    }
}
