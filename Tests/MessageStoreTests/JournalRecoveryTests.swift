import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

struct JournalRecoveryTests {
    let directory = StoreDirectory()

    /// A journal's segments as text, and what must become of them.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let segments: [String: [UInt8]]
        /// The ids that are delivered; nil when the store must refuse to open.
        let delivered: [String]?
        var damagedLine = 0
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
            delivered: nil, damagedLine: 3),
        Case(
            testDescription: "damage in the last batch but one, whose batch goes on behind it",
            segments: [
                first: segment + broken(line(2, batch: 1)) + line(3, batch: 1) + line(4, batch: 4)
            ],
            delivered: nil, damagedLine: 2),
        Case(
            testDescription: "a line is gone before the last batch",
            segments: [first: segment + line(3, batch: 3)], delivered: nil, damagedLine: 2),
        Case(
            testDescription: "a line stands twice",
            segments: [first: segment + line(2, batch: 1) + line(2, batch: 1)], delivered: nil, damagedLine: 3
        ),
        Case(
            testDescription: "a batch goes down",
            segments: [first: segment + line(2, batch: 2) + line(3, batch: 1)], delivered: nil, damagedLine: 3
        ),
        Case(
            testDescription: "damage at the end of a segment that is not the last",
            segments: [
                first: segment + line(2, batch: 1) + broken(line(3, batch: 3)),
                "000000000004.jsonl": segment(4) + line(5, batch: 4),
            ],
            delivered: nil, damagedLine: 3),
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
            testDescription: "an abandoned message that came again",
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
            delivered: nil, damagedLine: 1),
        Case(
            testDescription: "other files beside the segments",
            segments: [first: segment + line(2, batch: 1), "notes.txt": [1, 2, 3], "1.jsonl": [4]],
            delivered: ["m2"]),
    ]

    @Test(arguments: cases)
    func `a journal is read back by the rules`(_ scene: Case) async throws {
        try directory.prepare()
        for (name, bytes) in scene.segments { try directory.write(bytes, to: name) }
        guard let delivered = scene.delivered else { return try expectRefusal(scene) }
        let first = try directory.open()
        #expect(first.statistics.pendingDeliveries == delivered.count)
        for id in delivered { #expect(await first.append(message(id)) == .duplicate) }
        #expect(await first.append(message("new", from: CustomerID("urn:mbid:other"))) == .stored)
        await first.close()
        // What was cut is gone for good: the second life finds nothing to warn about.
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

    private func expectRefusal(_ scene: Case) throws {
        let found = #expect(throws: StoreError.self) { try directory.open() }
        guard case .damaged(let file, let line) = found else {
            Issue.record("not refused as damaged")
            return
        }
        #expect(line == scene.damagedLine)
        #expect(file.hasSuffix(".damaged"))
        #expect(Directory.exists(file))
        #expect(directory.log.lines.contains { $0.hasPrefix("critical") })
        // The damaged file is out of the way, and still nothing is taken for empty.
        #expect(throws: StoreError.quarantined(file: file)) { try directory.open() }
        #expect(throws: StoreError.quarantined(file: file)) { try directory.open() }
    }
}
