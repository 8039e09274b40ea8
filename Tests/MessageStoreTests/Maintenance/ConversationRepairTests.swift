import BalloonPOSIX
import BusinessMessages
import Testing

@testable import MessageStore

/// The decision about a conversation's file, from its current content, the journal and the lines that may be missing.
struct ConversationRepairTests {
    private let key = ConversationKey(business: business, customer: customer)
    private var path: String { ConversationFixture.path(business, customer) }

    private func entry(_ record: UInt64) -> ConversationEntry {
        ConversationEntry(
            conversation: key, record: record, at: Timestamp(milliseconds: 1_795_255_200_123),
            id: MessageID("m\(record)"), kind: .text, message: Array("{\"n\":\(record)}".utf8))
    }

    private func file(_ records: [UInt64]) -> [UInt8] {
        records.enumerated().flatMap { entry($1).line(sequence: $0 + 1) }
    }

    private func records(_ bytes: [UInt8]) -> [UInt64] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { ConversationLine(Array($0))?.record }
    }

    @Test func `damage after the synced lines is repaired in place without rewriting synced lines`() {
        let settled = file([1, 9, 3])
        // Zeros from a block that never reached the disk; a line that did reach it follows.
        let zeros = [UInt8](repeating: 0, count: 80) + [UInt8(ascii: "\n")]
        let shown = settled + zeros + entry(6).line(sequence: 5)
        let unsettled = UnsettledRecords([2, 6], last: 9)
        let repair = ConversationRepair(
            shown, at: path, adding: [entry(2), entry(6)], unsettled: unsettled)
        #expect(repair?.commonBytes(with: shown) == settled.count)
        #expect(records(repair?.bytes ?? []) == [1, 9, 3, 2, 6])
    }

    @Test func `damage before a synced line, or of more lines than the journal has, quarantines the file`() {
        let unsettled = UnsettledRecords([5], last: 9)
        for shown in [
            Array("broken\n".utf8) + file([1]), file([1]) + Array("broken\nbroken\nbroken\n".utf8),
        ] {
            #expect(ConversationRepair(shown, at: path, adding: [entry(5)], unsettled: unsettled) == nil)
        }
        let shown = file([1]) + Array("broken\n".utf8)
        #expect(
            ConversationRepair(shown, at: path, adding: [], unsettled: UnsettledRecords()) == nil)
    }

    @Test
    func
        `after a failed sync a conversation's file is replaced, unless it lost lines that the journal lacks`()
    {
        let repair = ConversationRepair(
            completing: file([1, 2]), at: path, with: [entry(2), entry(3)], through: 3)
        #expect(records(repair?.bytes ?? []) == [1, 2, 3])
        #expect(
            ConversationRepair(completing: file([1, 2]), at: path, with: [entry(3)], through: 4) == nil)
    }

    @Test func `a rebuild keeps every recoverable line, and counts the lost ones`() {
        let repair = ConversationRepair(
            Array("broken\nbroken\n".utf8) + file([1]), at: path, adding: [entry(2)])
        #expect(records(repair.bytes) == [1, 2])
        #expect((repair.lost, repair.restored) == (1, 1))
    }

    @Test
    func `a line appended while its conversation's file is replaced exists once, in order`()
        async throws
    {
        let directory = StoreDirectory()
        let store = try directory.open { $0.checkpointInterval = .seconds(3600) }
        let partition = store.conversations.partition(of: key)
        try partition.append(entry(1), mightBeThere: false)
        let name = partition.withPool { $0.name(of: key) }
        let replacement = try #require(
            try partition.withPool { pool throws(StoreError) in
                try pool.beginReplacing(name, adding: [entry(2)])
            })
        let new = try AtomicFile.Replacement(of: replacement.path, with: replacement.repair.bytes)
        // A delivery writes the line that the journal has, and then a new line.
        try partition.append(entry(2), mightBeThere: false)
        try partition.append(entry(3), mightBeThere: false)
        #expect(try partition.withPool { pool throws(StoreError) in try pool.install(new, of: replacement) })
        try partition.append(entry(4), mightBeThere: false)
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.record) == [1, 2, 3, 4])
        #expect(lines.map(\.sequence) == [1, 2, 3, 4])
        await store.close()
    }

    @Test func `a file that was replaced while its new content was written keeps its content`() async throws {
        let directory = StoreDirectory()
        let store = try directory.open { $0.checkpointInterval = .seconds(3600) }
        let partition = store.conversations.partition(of: key)
        try partition.append(entry(1), mightBeThere: false)
        try partition.append(entry(2), mightBeThere: false)
        let name = partition.withPool { $0.name(of: key) }
        let replacement = try #require(
            try partition.withPool { pool throws(StoreError) in
                try pool.beginReplacing(name, adding: [entry(2)])
            })
        let new = try AtomicFile.Replacement(of: replacement.path, with: replacement.repair.bytes)
        // An erasure or a removal of old lines leaves the second line only.
        let text = try File(replacement.path, for: .reading).readAll()
        let second = try #require(text.firstPosition(of: UInt8(ascii: "\n"), from: 0)) + 1
        let shorter = ConversationHeader.bytes(from: 2) + text[second...]
        try AtomicFile.write(shorter, to: replacement.path)
        #expect(try !partition.withPool { pool throws(StoreError) in try pool.install(new, of: replacement) })
        #expect(try File(replacement.path, for: .reading).readAll() == shorter)
        // A new attempt reads the shorter file.
        try partition.reconcile(name, with: [entry(2)], isSynced: false)
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.sequence) == [2])
        let folder = Directory.parent(of: replacement.path)
        #expect(try Directory.names(in: folder).allSatisfy { $0.hasSuffix(".jsonl") })
        await store.close()
    }

    @Test func `the later lines that wait for a quarantined conversation are written after its erasure`()
        async throws
    {
        let directory = StoreDirectory()
        let store = try directory.open { $0.checkpointInterval = .seconds(3600) }
        let partition = store.conversations.partition(of: key)
        try partition.append(entry(1), mightBeThere: false)
        let name = partition.withPool { $0.name(of: key) }
        let file = directory.path + "/conversations/" + ConversationPath.file(key)
        try partition.withPool { pool throws(StoreError) in
            _ = try pool.add(name.path, .damaged(file: file, line: 0))
        }
        for record: UInt64 in [2, 3] { try partition.append(entry(record), mightBeThere: false) }
        try partition.withPool { pool throws(StoreError) in
            try pool.replace(name, keeping: { $0.record > 2 }) {
                try? Directory.remove(directory.path + "/damaged/" + ConversationPath.file(key))
            }
        }
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.record) == [3])
        #expect(partition.quarantined == [])
        await store.close()
    }

    @Test func `a line that arrives during a rebuild is in the rebuilt conversation`() async throws {
        let directory = StoreDirectory()
        let store = try directory.open { $0.checkpointInterval = .seconds(3600) }
        let partition = store.conversations.partition(of: key)
        try partition.append(entry(1), mightBeThere: false)
        try partition.withPool { pool throws(StoreError) in try pool.setAside(path: path) }
        try partition.append(entry(2), mightBeThere: false)
        let quarantine = try partition.withPool { pool throws(StoreError) in pool.quarantine }
        let repair = try quarantine.rebuild(
            path, in: directory.path + "/conversations", adding: [entry(2)])
        try partition.append(entry(3), mightBeThere: false)
        try partition.withPool { pool throws(StoreError) in try pool.endQuarantine(of: path, repair) }
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(lines.map(\.record) == [1, 2, 3])
        #expect(store.statistics.quarantinedConversations == 0)
        await store.close()
    }
}

/// The scan for the identities of a conversation's lines.
struct LineScanTests {
    private let key = ConversationKey(business: business, customer: CustomerID("urn:mbid:\"quoted\""))

    private func lines() -> [[UInt8]] {
        let at = Timestamp(milliseconds: 1_795_255_200_123)
        let entries = [
            ConversationEntry(
                conversation: key, record: 2, at: at, id: MessageID("m"), kind: .text,
                message: Array("{\"a\":1}".utf8)),
            ConversationEntry(
                conversation: ConversationKey(business: business, customer: customer), record: 2, at: at,
                id: MessageID("r"), kind: .text, message: Array("{}".utf8), result: .accepted(status: 200)),
            ConversationEntry(
                conversation: ConversationKey(business: business, customer: customer), record: 5, at: at,
                id: MessageID("m2"), kind: .text, message: Array("{}".utf8), repeats: MessageID("m"),
                files: [.failed(reason: "gone")]),
        ]
        return entries.enumerated().map { $1.line(sequence: $0 + 1) }
    }

    @Test func `the scan without a JSON index finds the same lines as the JSON parser`() throws {
        let text = lines().flatMap { $0 }
        let found = try LineScan.identities(in: text, lastSequence: 3, path: "p")
        #expect(found == Set(lines().compactMap { ConversationLine(Array($0.dropLast()))?.identity }))
        #expect(found.count == 3)
        #expect(try LineScan.identities(in: [], lastSequence: 0, path: "p").isEmpty)
    }

    @Test func `zeros, an unfinished line and a missing line number are reported as damage`() {
        let text = lines().flatMap { $0 }
        let feed = lines()[0].count
        var zeros = text
        for place in feed + 100..<feed + 104 { zeros[place] = 0 }
        #expect(throws: StoreError.damaged(file: "p", line: 2)) {
            try LineScan.identities(in: zeros, lastSequence: 3, path: "p")
        }
        #expect(throws: StoreError.damaged(file: "p", line: 3)) {
            try LineScan.identities(in: Array(text.dropLast()), lastSequence: 3, path: "p")
        }
        #expect(throws: StoreError.damaged(file: "p", line: 1)) {
            try LineScan.identities(in: Array(text[feed...]), lastSequence: 2, path: "p")
        }
        #expect(throws: StoreError.damaged(file: "p", line: 3)) {
            try LineScan.identities(in: text, lastSequence: 4, path: "p")
        }
    }
}
