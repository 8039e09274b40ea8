import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

struct JournalRecoveryTests {
    let directory = StoreDirectory()

    /// A journal's segments as text, with the expected result.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let segments: [String: [UInt8]]
        /// The ids that are delivered, after a repair of any damage.
        let delivered: [String]
        /// The place of the damage, the lost records, and whether the conversation is held back.
        var damage: (lost: [ClosedRange<UInt64>], holds: Bool)?
        var warns = false
    }

    static let first = "000000000001.jsonl"
    static let segment = journalLine(1, batch: 1, segmentMembers)
    static func line(_ record: Int, batch: Int) -> [UInt8] {
        journalLine(record, batch: batch, messageMembers("m\(record)"))
    }
    static func broken(_ line: [UInt8]) -> [UInt8] {
        var line = line
        line[line.count / 2] ^= 1
        return line
    }
    static func abandoned(_ record: Int, batch: Int, from: Int, to: Int) -> [UInt8] {
        journalLine(record, batch: batch, "\"type\":\"abandoned\",\"from\":\(from),\"to\":\(to)")
    }
    static func segment(_ record: Int) -> [UInt8] { journalLine(record, batch: record, segmentMembers) }

    static let cases: [Case] = [
        Case(
            testDescription: "sound", segments: [first: segment + line(2, batch: 1) + line(3, batch: 3)],
            delivered: ["m2", "m3"]),
        Case(
            testDescription: "torn last line",
            segments: [first: segment + line(2, batch: 1) + line(3, batch: 3).dropLast(9)],
            delivered: ["m2"], warns: true),
        Case(
            testDescription: "last line lacks only its line feed",
            segments: [first: segment + line(2, batch: 1) + line(3, batch: 3).dropLast()],
            delivered: ["m2", "m3"], warns: true),
        Case(
            testDescription: "zeros at the end",
            segments: [first: segment + line(2, batch: 1) + [UInt8](repeating: 0, count: 5000)],
            delivered: ["m2"], warns: true),
        Case(
            testDescription: "damage in the last batch, good lines behind it",
            segments: [
                first: segment + line(2, batch: 1) + line(3, batch: 3) + broken(line(4, batch: 3))
                    + line(5, batch: 3)
            ],
            delivered: ["m2", "m3", "m5"], warns: true),
        Case(
            testDescription: "damage at the start of the last batch",
            segments: [first: segment + line(2, batch: 1) + broken(line(3, batch: 3)) + line(4, batch: 3)],
            delivered: ["m2", "m4"], warns: true),
        Case(
            testDescription: "zeros instead of a line's block, glued to the next line",
            segments: [
                first: segment + line(2, batch: 1) + [UInt8](repeating: 0, count: 300) + line(4, batch: 3)
            ],
            delivered: ["m2", "m4"], warns: true),
        Case(
            testDescription: "the first line is gone and its batch is the last",
            segments: [first: broken(segment) + line(2, batch: 1) + line(3, batch: 1)],
            delivered: ["m2", "m3"], warns: true),
        Case(
            testDescription: "a hole in the last batch that an earlier start left",
            segments: [first: segment + line(2, batch: 1) + line(4, batch: 3)], delivered: ["m2", "m4"]),
        Case(
            testDescription: "a hole that was left, then another segment",
            segments: [
                first: segment + line(2, batch: 1) + line(4, batch: 3),
                "000000000005.jsonl": segment(5) + line(6, batch: 5),
            ],
            delivered: ["m2", "m4", "m6"]),
        Case(
            testDescription: "damage followed by a later batch",
            segments: [first: segment + line(2, batch: 1) + broken(line(3, batch: 3)) + line(4, batch: 4)],
            delivered: ["m2", "m4"], damage: ([3...3], true)),
        Case(
            testDescription: "damage inside the second to last batch",
            segments: [
                first: segment + broken(line(2, batch: 1)) + line(3, batch: 1) + line(4, batch: 4)
            ],
            delivered: ["m3", "m4"], damage: ([2...2], false)),
        Case(
            testDescription: "a line is gone before the last batch",
            segments: [first: segment + line(3, batch: 3)], delivered: ["m3"], damage: ([2...2], false)),
        Case(
            testDescription: "a line stands twice",
            segments: [first: segment + line(2, batch: 1) + line(2, batch: 1)], delivered: ["m2"],
            damage: ([], false)
        ),
        Case(
            testDescription: "a batch goes down",
            segments: [first: segment + line(2, batch: 2) + line(3, batch: 1)], delivered: ["m2", "m3"]),
        Case(
            testDescription: "text of another program between two batches",
            segments: [
                first: segment + line(2, batch: 1) + Array("not a record\n\0\0\n".utf8) + line(3, batch: 3)
                    + line(4, batch: 4)
            ],
            delivered: ["m2", "m3", "m4"], damage: ([], false)),
        Case(
            testDescription: "damage at the end of a segment that is not the last",
            segments: [
                first: segment + line(2, batch: 1) + broken(line(3, batch: 3)),
                "000000000004.jsonl": segment(4) + line(5, batch: 4),
            ],
            delivered: ["m2", "m5"], damage: ([3...3], true)),
        Case(
            testDescription: "the same, abandoned by the next",
            segments: [
                first: segment + line(2, batch: 1) + broken(line(3, batch: 3)),
                "000000000004.jsonl": segment(4) + abandoned(5, batch: 4, from: 3, to: 3) + line(6, batch: 4),
            ],
            delivered: ["m2", "m6"]),
        Case(
            testDescription: "intact lines that were abandoned",
            segments: [
                first: segment + line(2, batch: 1) + line(3, batch: 3) + line(4, batch: 3),
                "000000000005.jsonl": segment(5) + abandoned(6, batch: 5, from: 3, to: 4) + line(7, batch: 5),
            ],
            delivered: ["m2", "m7"]),
        Case(
            testDescription: "an abandoned message that was sent again",
            segments: [
                first: segment + line(2, batch: 1) + journalLine(3, batch: 3, messageMembers("again")),
                "000000000004.jsonl": segment(4) + abandoned(5, batch: 4, from: 3, to: 3)
                    + journalLine(6, batch: 4, messageMembers("again")),
            ],
            delivered: ["m2", "again"]),
        Case(
            testDescription: "one message twice: the first counts",
            segments: [
                first: segment + journalLine(2, batch: 1, messageMembers("twice")) + line(3, batch: 1)
                    + journalLine(4, batch: 4, messageMembers("twice"))
            ],
            delivered: ["twice", "m3"]),
        Case(
            testDescription: "types and members that nobody knows",
            segments: [
                first: segment + journalLine(2, batch: 1, #""type":"later","of":3,"new":{"a":[1]}"#)
                    + journalLine(3, batch: 3, messageMembers("m3") + #","new":true"#)
            ],
            delivered: ["m3"]),
        Case(
            testDescription: "blank lines",
            segments: [
                first: segment + [10, 10] + line(2, batch: 1) + [10, 10, 10] + line(3, batch: 3) + [10]
            ],
            delivered: ["m2", "m3"]),
        Case(testDescription: "an empty file", segments: [first: []], delivered: []),
        Case(
            testDescription: "a new segment whose first write was cut off",
            segments: [
                first: segment + line(2, batch: 1), "000000000003.jsonl": segment(3).dropLast(20),
            ],
            delivered: ["m2"], warns: true),
        Case(
            testDescription: "a torn batch behind which an empty segment was made",
            segments: [
                first: segment + line(2, batch: 1) + line(3, batch: 3).dropLast(20), "000000000004.jsonl": [],
            ],
            delivered: ["m2"], warns: true),
        Case(
            testDescription: "a segment of which nothing is intact",
            segments: [
                first: segment + line(2, batch: 1),
                "000000000003.jsonl": broken(segment(3)) + broken(line(4, batch: 3))
                    + broken(line(5, batch: 5)),
            ],
            delivered: ["m2"], damage: ([3...5], true)),
        Case(
            testDescription: "a segment that is missing between two others",
            segments: [
                first: segment + line(2, batch: 1), "000000000005.jsonl": segment(5) + line(6, batch: 5),
            ],
            delivered: ["m2", "m6"], damage: ([3...4], true)),
        Case(
            testDescription: "the last segment has a damaged line, and later ones were removed",
            segments: [
                first: segment + line(2, batch: 1) + broken(line(3, batch: 3)) + line(4, batch: 4)
                    + broken(line(5, batch: 5)) + line(6, batch: 6)
            ],
            delivered: ["m2", "m4", "m6"], damage: ([3...3, 5...5], true)),
        Case(
            testDescription: "other files beside the segments",
            segments: [first: segment + line(2, batch: 1), "notes.txt": [1, 2, 3], "1.jsonl": [4]],
            delivered: ["m2"]),
    ]

    @Test(arguments: cases)
    func `each damaged journal is recovered to the deliveries and losses that the table expects`(
        _ scene: Case
    ) async throws {
        try directory.prepare()
        for (name, bytes) in scene.segments { try directory.write(bytes, to: name) }
        let delivered = scene.delivered
        if let damage = scene.damage { return try await expectRepair(scene, lost: damage.lost, damage.holds) }
        let first = try directory.open()
        #expect(first.statistics.pendingDeliveries == delivered.count)
        for id in delivered { #expect(await first.append(message(id)) == .duplicate) }
        #expect(await first.append(message("new", from: CustomerID("urn:mbid:other"))) == .stored)
        await first.close()
        // The first start removed the incomplete bytes, so the second start logs no warning.
        let second = try directory.open()
        #expect(second.statistics.pendingDeliveries == delivered.count + 1)
        var ids: [String] = []
        for _ in 0...delivered.count {
            let delivery = try await second.lease()
            #expect(delivery.text.contains("\"id\":\"\(delivery.id)\""))
            #expect(delivery.isRecovered)
            ids.append(delivery.id.rawValue)
            try await second.finish(delivery, result: .handled)
        }
        #expect(ids.filter { $0 != "new" } == delivered)
        #expect(directory.log.lines.count { $0.hasPrefix("warning") } == (scene.warns ? 1 : 0))
        await second.close()
        #expect(try directory.open().statistics.pendingDeliveries == 0)
    }

    private func expectRepair(
        _ scene: Case, lost: [ClosedRange<UInt64>], _ holds: Bool
    ) async throws {
        let store = try directory.open()
        let damage = store.journalDamage
        #expect(damage.lostRecords == lost)
        #expect(damage.isHarmful == !lost.isEmpty)
        #expect(damage.heldConversations == (holds ? 1 : 0))
        #expect(store.statistics.pendingDeliveries == scene.delivered.count)
        // New messages are stored and delivered while others are held back.
        #expect(await store.append(message("new", from: CustomerID("urn:mbid:other"))) == .stored)
        var ids: [String] = []
        if holds {
            let new = try await store.lease()
            #expect(new.id == MessageID("new"))
            try await store.finish(new, result: .handled)
        }
        #expect(try await store.repairJournal() == damage)
        #expect(store.journalDamage.isEmpty)
        for _ in 0..<scene.delivered.count + (holds ? 0 : 1) {
            let delivery = try await store.lease()
            ids.append(delivery.id.rawValue)
            try await store.finish(delivery, result: .handled)
        }
        #expect(ids.filter { $0 != "new" } == scene.delivered)
        await store.close()
        let kept = try Directory.names(in: directory.path + "/damaged/journal")
        #expect(kept.contains { $0.hasPrefix("report-") })
        #expect(Set(damage.segments).isSubset(of: kept))
        // The second start finds no damage, because the journal declares the lost records abandoned, and the
        // invalid lines are blank.
        #expect(try JournalFiles(dataDirectory: directory.path).events { _ in true }.count > 0)
        #expect(Directory.exists(directory.path + "/snapshot"))
        let second = try directory.open()
        #expect(second.journalDamage.isEmpty)
        #expect(!directory.log.lines.contains { $0.contains("journal snapshot not used") })
        #expect(second.statistics.pendingDeliveries == 0)
        if let first = lost.first {
            #expect(await second.append(message("m\(first.lowerBound)")) == .stored)
        }
        await second.close()
        #expect(try StoreVerification.run(dataDirectory: directory.path) { _ in }.isJournalDamaged == false)
    }

    @Test func `damage to a finished message is reported, and no conversation is held back`() async throws {
        try directory.prepare()
        try directory.write(
            Self.segment + Self.broken(Self.line(2, batch: 2))
                + journalLine(3, batch: 3, #""type":"finished","of":2,"kind":"text","result":"handled""#)
                + Self.line(4, batch: 4), to: Self.first)
        let store = try directory.open()
        #expect(store.journalDamage.lostRecords == [2...2])
        #expect(!store.journalDamage.isHarmful)
        #expect(try await store.lease().id == MessageID("m4"))
        await store.close()
    }

    @Test func `a repair names the segment that is missing, and no intact one`() async throws {
        try directory.prepare()
        try directory.write(Self.segment + Self.line(2, batch: 1), to: Self.first)
        try directory.write(Self.segment(5) + Self.line(6, batch: 5), to: "000000000005.jsonl")
        let store = try directory.open()
        #expect(store.journalDamage.segments == [])
        #expect(store.journalDamage.missingSegments == ["000000000003.jsonl"])
        #expect(JournalRepair(store.repairPreview.json)?.missingSegments == ["000000000003.jsonl"])
        let error = #expect(throws: StoreError.self) {
            try JournalFiles(dataDirectory: directory.path).events { _ in true }
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("000000000003.jsonl"))
    }

    @Test func `a message whose end is lost is held back, and delivered again after the repair`() async throws
    {
        try directory.prepare()
        try directory.write(
            Self.segment + Self.line(2, batch: 2)
                + Self.broken(
                    journalLine(3, batch: 3, #""type":"finished","of":2,"kind":"text","result":"handled""#))
                + journalLine(4, batch: 4, messageMembers("m4", customer: "urn:mbid:other")), to: Self.first)
        let store = try directory.open()
        #expect(store.journalDamage.isHarmful)
        #expect(try await store.lease().id == MessageID("m4"))
        _ = try await store.repairJournal()
        #expect(try await store.lease().id == MessageID("m2"))
        await store.close()
    }

    @Test func `a suspect of a crash in a conversation that is held back delays no other delivery`()
        async throws
    {
        try directory.prepare()
        try directory.write(
            Self.segment + Self.line(2, batch: 2)
                + Self.broken(
                    journalLine(3, batch: 3, #""type":"finished","of":2,"kind":"text","result":"handled""#))
                + journalLine(4, batch: 4, messageMembers("m4", customer: "urn:mbid:other")), to: Self.first)
        try directory.leave([2])
        let store = try directory.open { $0.suspectPatience = .seconds(3600) }
        #expect(store.journalDamage.heldConversations == 1)
        #expect(store.scheduler.holds.isEmpty)
        #expect(try await store.lease().id == MessageID("m4"))
        await store.close()
    }

    @Test
    func `a queued reply is held back while the journal is damaged, and can be leased after the repair`()
        async throws
    {
        let first = try directory.open()
        #expect(await first.append(message("1")) == .stored)
        let delivery = try await first.lease()
        let reply = DecidedReply(id: MessageID("r"), kind: .text, message: Array(#"{"id":"r"}"#.utf8))
        try await first.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await first.finish(delivery, result: .handled)
        for id in ["lost", "2"] {
            #expect(await first.append(message(id, from: CustomerID("urn:mbid:other"))) == .stored)
        }
        await first.close()
        let segment = try #require(try directory.segments().first)
        let text = String(
            decoding: try File(directory.journal + "/" + segment, for: .reading).readAll(), as: UTF8.self)
        try directory.write(Array(text.replacing("\"lost\"", with: "\"l0st\"").utf8), to: segment)
        let store = try directory.open()
        #expect(store.journalDamage.isHarmful)
        // The lost record may be the one that ended this reply.
        #expect(store.leaseReply() == nil)
        #expect(store.leaseReply(of: business, customer) == nil)
        #expect(store.leaseExpiredReply(after: .zero) == nil)
        #expect(store.queuedReplies(of: business, customer).map(\.reply) == [reply])
        let preview = try #require(JournalRepair(store.repairPreview.json))
        #expect(
            preview.held == [
                JournalRepair.Held(
                    business: business.rawValue, customer: customer.rawValue,
                    replies: ["\(ReplyID(record: delivery.record, index: 0))"])
            ])
        #expect(preview.heldConversations == 1)
        _ = try await store.repairJournal()
        #expect(store.leaseReply()?.reply == reply)
        await store.close()
    }

    @Test func `a segment that an earlier version quarantined is read again`() async throws {
        try directory.prepare()
        try directory.write(
            Self.segment + Self.line(2, batch: 1) + Self.broken(Self.line(3, batch: 3))
                + Self.line(4, batch: 4),
            to: Self.first + ".damaged")
        let store = try directory.open()
        #expect(store.journalDamage.lostRecords == [3...3])
        #expect(await store.append(message("m4")) == .duplicate)
        await store.close()
    }

    @Test func `a repair of the journal that cannot be written changes nothing`() async throws {
        try directory.prepare()
        try directory.write(Self.segment + Self.line(3, batch: 3), to: Self.first)
        let disk = FaultyDisk()
        let store = try directory.open { $0.disk = disk }
        disk.fail(.synchronize)
        await #expect(throws: StoreError.self) { try await store.repairJournal() }
        #expect(store.journalDamage.isHarmful)
        disk.recover()
        #expect(await store.append(message("new")) == .stored)
        await store.close()
        let second = try directory.open()
        #expect(second.journalDamage.lostRecords == [2...2])
        #expect(try await second.repairJournal().lostRecords == [2...2])
        await second.close()
        #expect(try directory.open().journalDamage.isEmpty)
    }

    @Test func `removing abandoned records from a range leaves the ranges between them`() {
        var abandoned = AbandonedRecords()
        for range in [3...4, 8...8, 12...20] as [ClosedRange<UInt64>] { abandoned.insert(range) }
        #expect(abandoned.remaining(in: 1...13) == [1...2, 5...7, 9...11])
        #expect(abandoned.remaining(in: 3...4).isEmpty)
        #expect(abandoned.remaining(in: 21...22) == [21...22])
    }
}
