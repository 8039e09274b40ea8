import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// Removing what is older than a business keeps it.
struct TrimmingTests {
    private let directory = StoreDirectory()
    private let customer = CustomerID("c")
    private var key: ConversationKey { ConversationKey(business: business, customer: customer) }
    private var path: String { directory.path + "/conversations/" + ConversationPath.file(key) }
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    /// The text of a line that was written this many days before `now`.
    private func line(_ number: Int, daysAgo: Int, record: Int? = nil) -> String {
        let at = now.advanced(by: .seconds(-86_400 * daysAgo)).rfc3339
        return
            #"{"seq":\#(number),"at":"\#(at)","direction":"inbound","id":"m\#(number)","kind":"text","#
            + #""customer":"c","record":\#(record ?? number),"message":{"id":"m\#(number)","body":"text \#(number)"}}"#
            + "\n"
    }

    @Test(
        arguments: [
            // The ages of the lines in days, and the number of removed lines; nil when the file stays.
            ([9, 8, 7], nil), ([11, 9, 8], 1), ([12, 11], 2), ([11, 12, 9, 11], 2),
            ([11] + Array(repeating: 5, count: 9), 1), ([11] + Array(repeating: 5, count: 10), nil),
            ([41] + Array(repeating: 5, count: 10), 1), ([], nil),
        ] as [([Int], Int?)])
    func `the oldest lines are due when a tenth of the file is, or for 30 days`(
        _ ages: [Int], _ removed: Int?
    ) {
        let text = ages.enumerated().map { line($0.offset + 1, daysAgo: $0.element) }.joined()
        let limit = now.advanced(by: .seconds(-10 * 86_400))
        let trimmed = ConversationRepair(trimming: Array(text.utf8), olderThan: limit, before: 1000)
        #expect(trimmed?.removed == removed)
        #expect(trimmed?.count == removed.map { ages.count - $0 })
    }

    @Test func `a line whose record the journal still has stays, and so does what follows it`() {
        let text =
            line(1, daysAgo: 99, record: 3) + line(2, daysAgo: 99, record: 7)
            + line(3, daysAgo: 99, record: 4)
        let limit = now.advanced(by: .seconds(-10 * 86_400))
        func trimmed(_ text: String, before record: UInt64) -> ConversationRepair? {
            ConversationRepair(trimming: Array(text.utf8), olderThan: limit, before: record)
        }
        #expect(trimmed(text, before: 7)?.removed == 1)
        #expect(trimmed(text, before: 3) == nil)
        #expect(trimmed("x" + text, before: 7) == nil)
    }

    @Test(arguments: [
        ("{\"format\":2,\"from\":501}\n{\"seq\":501", 501, 24), ("{\"seq\":1}\n", 1, 0), ("", 1, 0),
        ("{\"format\":2,\"from\":501", 1, 0), ("{\"format\":2,\"from\":x}\n", 1, 0),
        ("{\"format\":2,\"from\":99999999999999999999}\n", 1, 0), ("{\"format\":2,\"from\":0}\n", 1, 0),
        ("{\"format\":3,\"from\":5}\n", 1, 0),
    ])
    func `a header names the first line`(_ text: String, _ from: Int, _ size: Int) {
        let header = ConversationHeader(Array(text.utf8))
        #expect(header.from == from && header.sizeBytes == size)
    }

    /// A directory whose conversation has old lines of records that the journal no longer has.
    private func prepare(_ ages: [Int]) async throws -> Store {
        // The journal begins at record 100.
        try directory.prepare()
        try directory.write(
            journalLine(100, batch: 100, #""type":"segment","format":1,"at":"2027-01-01T00:00:00.000Z""#),
            to: SegmentName.text(firstRecord: 100))
        let text = ages.enumerated().map { line($0.offset + 1, daysAgo: $0.element) }.joined()
        try Directory.make(Directory.parent(of: path))
        try AtomicFile.write(Array(text.utf8), to: path)
        let store = try directory.open { $0.keepsIndex = true }
        #expect(await eventually { store.index.phase == .ready })
        return store
    }

    private func verify() throws {
        _ = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
    }

    @Test func `a trimmed conversation is read, continued, verified and rebuilt with its old numbers`()
        async throws
    {
        let store = try await prepare([99, 98, 97, 3, 2])
        let report = try await store.trim(keepingDays: [business: 10], now: now)
        #expect(report.rewritten == 1 && report.lines == 3 && report.removed == 0)
        let content = String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
        #expect(content == "{\"format\":2,\"from\":4}\n" + line(4, daysAgo: 3) + line(5, daysAgo: 2))
        #expect(
            store.index.withIndex { $0.entry(of: ConversationName(path: ConversationPath.file(key))!)?.lines }
                == 5)
        #expect(try store.recentLines(of: business, customer, maximum: 10).map(\.sequence) == [4, 5])
        // Nothing more is due.
        #expect(try await store.trim(keepingDays: [business: 10], now: now) == TrimReport())

        _ = await store.append(message("new", from: customer))
        try await store.finish(try await store.lease(), result: .handled)
        #expect(try store.recentLines(of: business, customer, maximum: 10).map(\.sequence) == [4, 5, 6])
        let files = ConversationFiles(dataDirectory: directory.path)
        #expect(try files.lines(of: business, customer).map(\.sequence) == [4, 5, 6])
        let name = ConversationFiles.name(of: customer)
        let all = try #require(
            try files.page(of: business, named: name, .latest, maximum: 9, maximumBytes: 9999))
        #expect(all.first == 4 && all.last == 6 && !all.hasEarlier)
        let before = try #require(
            try files.page(of: business, named: name, .before(5), maximum: 9, maximumBytes: 9999))
        #expect(before.lines.count == 1 && !before.hasEarlier && before.hasLater)
        for (place, count) in [
            (ConversationFiles.PagePlace.before(4), 0), (.before(1), 0), (.after(0), 3), (.after(6), 0),
        ] {
            let page = try files.page(of: business, named: name, place, maximum: 9, maximumBytes: 9999)
            #expect(page?.lines.count == count && page?.hasEarlier == false)
        }
        #expect(try files.message(MessageID("m4"), of: business, named: name)?.line.sequence == 4)
        #expect(try files.message(MessageID("m1"), of: business, named: name) == nil)
        await store.close()
        try verify()

        // A line of the trimmed file is damaged: a rebuild keeps header and numbers.
        let damaged = String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
        try AtomicFile.write(Array(damaged.replacing("text 5", with: "te\u{1}t 5").utf8), to: path)
        let again = try directory.open { $0.keepsIndex = true }
        let rebuilt = try await again.rebuild()
        #expect(rebuilt.repairedConversations == 1 && rebuilt.lostLines == 1)
        #expect(
            try again.recentLines(of: business, customer, maximum: 10).map(\.id.rawValue) == ["m4", "new"])
        #expect(try again.recentLines(of: business, customer, maximum: 10).map(\.sequence) == [4, 5])
        await again.close()
        try verify()
    }

    @Test func `a conversation of which nothing is left is removed with its state`() async throws {
        let store = try await prepare([99, 98])
        let state = directory.path + "/states/" + ConversationPath.state(key)
        try Directory.make(Directory.parent(of: state))
        try AtomicFile.write(Array(#"{"format":1,"decision":2,"state":{"cart":1}}"#.utf8), to: state)
        await store.close()
        let opened = try directory.open { $0.keepsIndex = true }
        #expect(await eventually { opened.index.phase == .ready })
        let report = try await opened.trim(keepingDays: [business: 10], now: now)
        #expect(report.removed == 1 && report.lines == 2 && report.rewritten == 0)
        #expect(!Directory.exists(path) && !Directory.exists(state))
        _ = await opened.append(message("new", from: customer))
        try await opened.finish(try await opened.lease(), result: .handled)
        #expect(try opened.recentLines(of: business, customer, maximum: 10).map(\.sequence) == [1])
        await opened.close()
        try verify()
    }

    @Test func `a withdrawal stays when a conversation is removed, until an erasure`() async throws {
        let store = try await prepare([99, 98])
        let withdrawn = Consent(isGiven: false, at: now, words: "STOP, all of you", types: [])
        for (record, message) in [
            InternalMessage.customer(name: "Ana", addTags: ["vip"]), .consent(withdrawn),
        ].enumerated() {
            try store.states.apply(message.json(of: "b"), recordedBy: UInt64(record + 1), of: key)
        }
        try await store.states.keep(Array(#"{"cart":1}"#.utf8), decidedBy: 2, of: key)
        #expect(try await store.trim(keepingDays: [business: 10], now: now).removed == 1)
        var kept = CustomerDetails()
        kept.consent = Consent(isGiven: false, at: now, words: nil, types: [])
        #expect(try store.details(of: business, customer) == kept)
        #expect(try await store.state(of: business, customer) == nil)
        _ = try await store.erase([customer])
        #expect(try store.details(of: business, customer) == CustomerDetails())
        await store.close()
    }

    @Test func `nothing is trimmed for another business, while a backup runs, and without an index`()
        async throws
    {
        let store = try await prepare([99, 98, 1])
        #expect(try await store.trim(keepingDays: [BusinessID("other"): 10], now: now) == TrimReport())
        #expect(try await store.trim(keepingDays: [:], now: now) == TrimReport())
        let pin = try await BackupPin(dataDirectory: directory.path)
        var postponed = TrimReport()
        postponed.isPostponed = true
        #expect(try await store.trim(keepingDays: [business: 10], now: now) == postponed)
        await #expect(throws: StoreError.backupRunning(process: nil)) { _ = try await store.rebuild() }
        withExtendedLifetime(pin) {}
        store.keepIndex(false)
        #expect(try await store.trim(keepingDays: [business: 10], now: now) == TrimReport())
        await store.close()
    }

    @Test func `a second removal of old lines at the same time is refused`() async throws {
        let store = try await prepare([99, 98, 1])
        store.isTrimming.store(true, ordering: .relaxed)
        await #expect(throws: StoreError.filesChanging) {
            _ = try await store.trim(keepingDays: [business: 10], now: now)
        }
        store.isTrimming.store(false, ordering: .relaxed)
        #expect(try await store.trim(keepingDays: [business: 10], now: now).lines == 2)
        await store.close()
    }

    @Test func `lines that are written while the new file is written are in it`() async throws {
        let store = try await prepare([99, 98] + Array(repeating: 1, count: 60))
        let writing = Task { [customer] in
            for number in 1...300 {
                _ = await store.append(message("w-\(number)", from: customer))
                try await store.finish(try await store.lease(), result: .handled)
            }
        }
        var lines = 0
        while lines == 0 { lines = try await store.trim(keepingDays: [business: 10], now: now).lines }
        try await writing.value
        #expect(lines == 2)
        let numbers = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
            .map(\.sequence)
        #expect(numbers == Array(3...362))
        await store.close()
        try verify()
    }

    @Test func `dead letters are dropped when they are older than their business keeps them`() async throws {
        let store = try directory.open()
        for id in ["a", "b"] { _ = await store.append(message(id, from: CustomerID(id))) }
        for _ in 1...2 { try await store.finish(try await store.lease(), result: .failed(reason: "down")) }
        await store.journal.flush()
        let later = Timestamp.now().advanced(by: .seconds(5 * 86_400))
        #expect(try await store.dropDeadLetters(keepingDays: [business: 6], now: later) == 0)
        #expect(try await store.dropDeadLetters(keepingDays: [BusinessID("other"): 4], now: later) == 0)
        // A restoration parked the first message yesterday, however old it is.
        let yesterday = later.advanced(by: .seconds(-86_400)).rfc3339
        let mark = #"{"format":1,"backup":"b","store":"s","record":2,"parkThrough":2,"at":"\#(yesterday)"}"#
        try AtomicFile.write(Array(mark.utf8), to: directory.path + "/restored")
        #expect(try await store.dropDeadLetters(keepingDays: [business: 4], now: later) == 1)
        try Directory.remove(directory.path + "/restored")
        #expect(try await store.dropDeadLetters(keepingDays: [business: 4], now: later) == 1)
        #expect(try await store.dropDeadLetters(keepingDays: [business: 4], now: later) == 0)
        await store.close()
    }
}
