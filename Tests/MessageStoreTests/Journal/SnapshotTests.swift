import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// A start from a snapshot has the same state as a start from the whole journal.
struct SnapshotTests {
    let directory = StoreDirectory()

    private var snapshot: String { directory.path + "/snapshot" }

    private func reply(_ id: String) -> DecidedReply {
        DecidedReply(id: MessageID(id), kind: .text, message: Array(#"{"id":"\#(id)","type":"text"}"#.utf8))
    }

    /// Writes a journal of several segments with every state of messages, and its snapshot at closing.
    private func fill(_ directory: StoreDirectory, from first: Int = 0) async throws {
        let store = try directory.open {
            $0.maximumSegmentAge = .zero
            $0.preparedBytes = 64 << 10
        }
        for number in first..<first + 12 {
            let customer = CustomerID("urn:mbid:\(number % 5)")
            #expect(await store.append(message("m\(number)", from: customer)) == .stored)
        }
        for number in first..<first + 8 {
            let delivery = try await store.lease()
            switch number % 4 {
            case 0: store.postpone(delivery, after: .seconds(3600), parks: true)
            case 1: try await store.finish(delivery, result: .failed(reason: "no use"))
            case 2:
                // One reply of this message is refused, which is also an event; the other is queued.
                try await store.decide(
                    delivery,
                    DecidedOutcome(.handled, replies: [reply("r\(number)-0"), reply("r\(number)-1")]))
                try await store.finish(delivery, result: .handled)
                let entry = try #require(store.leaseReply())
                try await store.settle(entry, .refused(status: 400, reason: "no"), isReported: true)
            default: try await store.finish(delivery, result: .handled)
            }
        }
        await store.close()
    }

    /// The state after a start, as text.
    private func state(_ directory: StoreDirectory, usesSnapshot: Bool) throws -> String {
        let copy = try directory.copy()
        if !usesSnapshot, Directory.exists(copy.path + "/snapshot") {
            try Directory.remove(copy.path + "/snapshot")
        }
        let result = try JournalRecovery(copy.configuration, logger: copy.log.logger)
        if !usesSnapshot { #expect(result.covered == 0) }
        let recovered = result.state
        let state = recovered.state
        var messages: [String] = []
        for number in 0..<40 {
            let key = MessageKey(business: business, id: MessageID("m\(number)"))
            messages.append("\(number): \(recovered.index.record(of: key).map(String.init) ?? "-")")
        }
        // A running store uses its own clock for the age of a segment.
        let segments = state.ledger.segments.map { "\($0.first) \($0.open) \($0.lastEnd)" }
        let letters = state.ledger.deadLetters.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value)" }
        return """
            next \(state.nextRecord), unsynced \(state.isUnsynced), latest \(String(describing: state.latestMessageAt))
            index \(recovered.index.count) \(messages)
            segments \(segments), checkpoint \(state.ledger.checkpoint), letters \(letters)
            deliveries \(recovered.undelivered)
            replies \(recovered.withQueuedReplies)
            unwritten \(recovered.unwritten)
            """
    }

    private func isUsed(_ directory: StoreDirectory) throws -> Bool {
        let copy = try directory.copy()
        return try JournalRecovery(copy.configuration, logger: copy.log.logger).covered > 0
    }

    @Test func `a start from a snapshot has the state of the whole journal`() async throws {
        try await fill(directory)
        #expect(try isUsed(directory))
        #expect(try state(directory, usesSnapshot: true) == state(directory, usesSnapshot: false))
        // Now with an older snapshot: newer records exist.
        let old = try File(snapshot, for: .reading).readAll()
        try await fill(directory, from: 12)
        try AtomicFile.write(old, to: snapshot)
        #expect(try isUsed(directory))
        #expect(try state(directory, usesSnapshot: true) == state(directory, usesSnapshot: false))
    }

    @Test func `a truncated snapshot, or one with a flipped bit, is not used`() async throws {
        try await fill(directory)
        let whole = try File(snapshot, for: .reading).readAll()
        let expected = try state(directory, usesSnapshot: false)
        for length in stride(from: 0, to: whole.count, by: 512) {
            try AtomicFile.write(Array(whole.prefix(length)), to: snapshot)
            #expect(try !isUsed(directory), "cut at \(length)")
        }
        for position in stride(from: 0, to: whole.count, by: 61) {
            var damaged = whole
            damaged[position] ^= 1 << UInt8(position % 8)
            try AtomicFile.write(damaged, to: snapshot)
            #expect(try !isUsed(directory), "bit at \(position)")
        }
        #expect(try state(directory, usesSnapshot: true) == expected)
    }

    @Test func `a snapshot whose segments differ from the journal's is not used`() async throws {
        try await fill(directory)
        let older = try directory.copy()
        try await fill(directory, from: 12)
        let newer = try File(snapshot, for: .reading).readAll()
        try AtomicFile.write(newer, to: older.path + "/snapshot")
        #expect(try !isUsed(older))
        let segments = try directory.segments()
        // A segment in the middle is missing: the journal counts as damaged.
        try Directory.remove(directory.journal + "/" + segments[2])
        #expect(try !isUsed(directory))
        let store = try directory.open()
        #expect(store.journalDamage.isHarmful)
        // The closing store writes no snapshot, which would hide the damage from the next start.
        await store.close()
        let second = try directory.open()
        #expect(second.journalDamage.isHarmful)
        await second.close()
    }

    @Test func `a snapshot is used after the deletion of the oldest segments, without their messages`()
        async throws
    {
        let store = try directory.open {
            $0.maximumSegmentAge = .zero
            $0.deduplicationWindow = .seconds(72 * 3600)
        }
        for number in 0..<4 {
            #expect(await store.append(message("m\(number)", from: CustomerID("c\(number)"))) == .stored)
            let delivery = try await store.lease()
            try await store.finish(delivery, result: .handled)
        }
        await store.close()
        try Directory.remove(directory.journal + "/" + (try #require(directory.segments().first)))
        #expect(try isUsed(directory))
        #expect(try state(directory, usesSnapshot: true) == state(directory, usesSnapshot: false))
    }

    @Test func `a snapshot leaves out the oldest segments that are deleted before their checksums are read`()
        async throws
    {
        try await fill(directory)
        let ends = try JournalRecovery(directory.configuration, logger: directory.log.logger).segments
        try #require(ends.count > 3)
        let file = SnapshotFile(directory.configuration)
        for end in ends[..<2] { try Directory.remove(SegmentName.path(end.first, in: directory.journal)) }
        #expect(file.segments(endingAt: ends)?.map(\.first) == ends.dropFirst(2).map(\.first))
        try Directory.remove(SegmentName.path(ends[3].first, in: directory.journal))
        #expect(file.segments(endingAt: ends) == nil)
    }

    @Test func `a snapshot that a killed process had prepared is removed`() async throws {
        try await fill(directory)
        let left = directory.path + "/snapshot.4711-1.new"
        try AtomicFile.write(Array("names a customer".utf8), to: left)
        let store = try directory.open()
        #expect(!Directory.exists(left))
        try AtomicFile.write(Array("names a customer".utf8), to: left)
        await store.snapshotter.discard()
        #expect(!Directory.exists(left) && !Directory.exists(snapshot))
        await store.close()
    }

    @Test func `a snapshot made with other settings is not used`() async throws {
        try await fill(directory)
        var configuration = directory.configuration
        configuration.maximumRememberedMessages = 7
        let result = try JournalRecovery(configuration, logger: directory.log.logger)
        #expect(result.covered == 0)
        #expect(directory.log.lines.contains { $0.contains("journal snapshot not used") })
    }

    @Test func `a snapshot is made however many lines the unfinished messages have`() async throws {
        try directory.prepare()
        var bytes = journalLine(1, batch: 1, segmentMembers) + journalLine(2, batch: 1, messageMembers("m"))
        for record in 3...70_000 {
            bytes += journalLine(
                record, batch: 1, #""type":"attempt","of":2,"attempt":1,"at":"2026-11-21T10:00:00.123Z""#)
        }
        try directory.write(bytes, to: "000000000001.jsonl")
        await (try directory.open(recordingAs: nil)).close()
        #expect(try isUsed(directory))
        #expect(try directory.open(recordingAs: nil).statistics.pendingDeliveries == 1)
    }

    @Test func `a snapshot is made while the store runs, and delays no write`() async throws {
        let store = try directory.open {
            $0.snapshotInterval = 1
            // Two copies of the directory are compared: no checkpoint comes between them.
            $0.checkpointInterval = .seconds(3600)
        }
        for number in 0..<20 { #expect(await store.append(message("m\(number)")) == .stored) }
        async let made: Void = store.checkpointer.run(isDue: true)
        for number in 20..<40 { #expect(await store.append(message("m\(number)")) == .stored) }
        await made
        #expect(Directory.exists(snapshot))
        #expect(try isUsed(directory))
        #expect(try state(directory, usesSnapshot: true) == state(directory, usesSnapshot: false))
        await store.close()
    }
}
