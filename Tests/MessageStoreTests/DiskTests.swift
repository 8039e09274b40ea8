import BalloonPOSIX
import BusinessMessages
import Glibc
import TestSupport
import Testing

@testable import MessageStore

/// Real file systems that are full or not writable: small ones in memory, which only root can mount.
@Suite(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"), .serialized)
struct DiskTests {
    @Test func `a full disk refuses messages, loses no accepted one, and resumes when space is free`()
        async throws
    {
        let disk = try SmallDisk(bytes: 768 << 10)
        let filler = try File(disk.path + "/filler", for: .appending)
        try filler.append([UInt8](repeating: 1, count: 256 << 10))
        var configuration = StoreConfiguration(directory: disk.path + "/data")
        configuration.probeInterval = .milliseconds(10)
        let log = LogCollector()
        let store = try Store.open(configuration, logger: log.logger)
        let long = String(repeating: "x", count: 20_000)
        var taken: [String] = []
        var refused: [String] = []
        for number in 1...60 where refused.count < 5 {
            let id = "m\(number)"
            switch await store.append(message(id, text: long)) {
            case .stored: taken.append(id)
            case .failed(.notDurable(let error)):
                #expect(error.code == ENOSPC)
                refused.append(id)
            case let other: Issue.record("\(other)")
            }
        }
        #expect(taken.count > 10)
        #expect(refused.count == 5)
        // The log is checked instead of the statistics, because the store's small probe may still fit on the disk.
        #expect(log.lines.contains { $0.contains("disk write failed") && $0.contains("No space left") })
        #expect(store.statistics.waitingBytes < 1 << 20)
        #expect(store.statistics.pendingDeliveries == taken.count)
        try filler.truncate(to: 0)
        #expect(await eventually { store.statistics.lastSyncFailure == nil })
        for id in refused { #expect(await store.append(message(id)) == .stored) }
        for id in taken { #expect(await store.append(message(id)) == .duplicate) }
        await store.close()
        // The disk gets space for conversation lines too.
        try disk.resize(to: 8 << 20)
        let restarted = try Store.open(configuration, logger: log.logger)
        restarted.startRecording { try restarted.write($0, as: .text) }
        var delivered: [String] = []
        for _ in taken + refused {
            let delivery = try await restarted.lease()
            delivered.append(delivery.id.rawValue)
            try await restarted.finish(delivery, result: .handled)
        }
        #expect(delivered == taken + refused)
        await restarted.close()
    }

    @Test func `accepted messages are delivered and recorded once when a full disk has space again`()
        async throws
    {
        let disk = try SmallDisk(bytes: 512 << 10)
        var configuration = StoreConfiguration(directory: disk.path + "/data")
        configuration.probeInterval = .milliseconds(10)
        configuration.checkpointInterval = .milliseconds(1)
        configuration.preparedBytes = 0
        let log = LogCollector()
        let store = try Store.open(configuration, logger: log.logger)
        store.startRecording { try store.write($0, as: .text) }
        let count = 40
        for number in 1...count {
            let received = message("m\(number)", from: CustomerID("c\(number % 10)"), text: "hello")
            #expect(await store.append(received) == .stored)
        }
        let filler = try File(disk.path + "/filler", for: .appending)
        // The disk is filled up to its last page.
        while (try? filler.append([UInt8](repeating: 1, count: 4096))) != nil {}
        var failures = 0
        for _ in 1...5 {
            let delivery = try await store.lease()
            do { try await end(delivery, in: store) } catch {
                failures += 1
                #expect(store.release(delivery) == .seconds(1))
                break
            }
        }
        #expect(failures == 1)
        try filler.truncate(to: 0)
        while store.statistics.pendingDeliveries > 0 {
            let delivery = try await store.lease()
            #expect(delivery.attempt == 1)
            try await end(delivery, in: store)
        }
        await store.close()
        let verification = try StoreVerification.run(dataDirectory: configuration.directory) {
            Issue.record("\($0)")
        }
        #expect(verification.problems == 0)
        #expect(verification.lines == 2 * count)
        let restarted = try Store.open(configuration, logger: log.logger)
        #expect(restarted.statistics.pendingDeliveries == 0)
        // All lines are known to be on disk: no recovery from the journal is needed.
        #expect(restarted.journalState.withState(\.ledger.checkpoint) > 0)
        await restarted.close()
    }

    private func end(_ delivery: Delivery, in store: Store) async throws {
        if delivery.decided == nil {
            let reply = DecidedReply(
                id: MessageID("r-" + delivery.id.rawValue), kind: .text, message: Array("{}".utf8))
            try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        }
        if let reply = store.leaseReply(of: business, delivery.customer) {
            do { try await store.settle(reply, .accepted(status: 200)) } catch {
                store.release(reply)
                throw error
            }
        }
        try await store.finish(delivery, result: .handled)
    }

    @Test func `an unwritable directory is refused with the path and the reason`() throws {
        let disk = try SmallDisk(bytes: 256 << 10)
        try Directory.make(disk.path + "/data")
        try disk.makeReadOnly()
        let failure = #expect(throws: StoreError.self) {
            try Store.open(
                StoreConfiguration(directory: disk.path + "/data"), logger: LogCollector().logger)
        }
        guard case .unavailable(let path, let error) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(path.hasPrefix(disk.path + "/data"))
        #expect(error.code == EROFS)
    }
}

/// Restarts after changes of the wall clock.
struct ClockTests {
    private let directory = StoreDirectory()

    private func line(_ record: Int, batch: Int, _ id: String, at: String) -> [UInt8] {
        journalLine(
            record, batch: batch,
            "\"type\":\"message\",\"at\":\"\(at)\",\"business\":\"b\",\"customer\":\"urn:mbid:c\","
                + "\"id\":\"\(id)\",\"message\":{\"id\":\"\(id)\"}")
    }

    @Test(arguments: [
        ["2026-11-21T10:00:00.000Z", "2036-11-21T10:00:00.000Z", "2026-11-21T10:00:01.000Z"],
        ["2026-11-21T10:00:00.000Z", "1970-01-01T00:00:00.000Z", "2026-11-21T10:00:01.000Z"],
        ["2036-11-21T10:00:00.000Z", "1970-01-01T00:00:00.000Z", "2036-11-21T10:00:00.000Z"],
    ])
    func `after any clock change all messages are known, in order and delivered once`(times: [String])
        async throws
    {
        try directory.prepare()
        var bytes = journalLine(1, batch: 1, segmentMembers)
        for (index, time) in times.enumerated() {
            bytes += line(index + 2, batch: index + 2, "m\(index)", at: time)
        }
        try directory.write(bytes, to: "000000000001.jsonl")
        let store = try directory.open { $0.retentionInterval = .milliseconds(1) }
        for index in times.indices { #expect(await store.append(message("m\(index)")) == .duplicate) }
        for index in times.indices {
            let delivery = try await store.lease()
            #expect(delivery.id == MessageID("m\(index)"))
            try await store.finish(delivery, result: .handled)
        }
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.id.rawValue) == times.indices.map { "m\($0)" })
    }

    @Test func `a parked delivery due in years after a clock change is delivered within a day`() throws {
        let now = try #require(Timestamp(rfc3339: "2026-11-21T10:00:00.000Z"))
        let day = Duration.seconds(86_400)
        #expect(remaining(until: Timestamp(rfc3339: "2036-11-21T10:00:00.000Z"), from: now) == day)
        #expect(remaining(until: Timestamp(rfc3339: "2026-11-21T10:00:01.500Z"), from: now) == .seconds(1.5))
        #expect(remaining(until: Timestamp(rfc3339: "1970-01-01T00:00:00.000Z"), from: now) == .zero)
        #expect(remaining(until: nil, from: now) == .zero)
    }

    @Test func `a parked delivery overdue by years after a clock change is delivered at once`()
        async throws
    {
        try directory.prepare()
        try directory.write(
            journalLine(1, batch: 1, segmentMembers) + journalLine(2, batch: 2, messageMembers("m"))
                + journalLine(
                    3, batch: 3,
                    #""type":"attempt","of":2,"attempt":1,"at":"1970-01-01T00:00:00.000Z","next":"1970-01-01T00:01:00.000Z","parked":true"#
                ), to: "000000000001.jsonl")
        let store = try directory.open()
        #expect(try await store.lease().isParked)
        await store.close()
    }
}
