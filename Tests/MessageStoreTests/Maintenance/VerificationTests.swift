import BalloonPOSIX
import BusinessMessages
import Glibc
import MessageStore
import Synchronization
import TestSupport
import Testing

/// The findings of `balloon conversations verify`.
struct VerificationTests {
    let directory = StoreDirectory()

    /// Stores three messages with one reply each, one pending message, and one with redacted parts.
    private func fill() async throws {
        let store = try directory.open()
        for number in 1...3 {
            _ = await store.append(message("m\(number)"))
            let delivery = try await store.lease()
            let reply = DecidedReply(id: MessageID("r\(number)"), kind: .text, message: Array("{}".utf8))
            try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
            try await store.settleReply(0, of: delivery, .accepted(status: 200))
            try await store.finish(delivery, result: .handled)
        }
        store.startRecording { try store.write($0, as: .form) }
        _ = await store.append(message("form", from: CustomerID("d")))
        let form = try await store.lease()
        try await store.finish(form, result: .unhandled)
        _ = await store.append(message("open", from: CustomerID("e")))
        // The message is recorded concurrently, and closing the store does not wait for that.
        let files = ConversationFiles(dataDirectory: directory.path)
        #expect(try await eventually { try files.lines(of: business, CustomerID("e")).count == 1 })
        await store.close()
    }

    private func problems(in path: String? = nil) throws -> [StoreProblem] {
        let found = Mutex<[StoreProblem]>([])
        let result = try StoreVerification.run(dataDirectory: path ?? directory.path) { problem in
            found.withLock { $0.append(problem) }
        }
        let problems = found.withLock { $0 }
        #expect(result.problems == problems.count)
        return problems
    }

    private func path(_ customer: CustomerID) -> String {
        directory.path + "/conversations/" + ConversationFixture.path(business, customer)
    }

    private func edit(_ customer: CustomerID, _ change: (inout [String]) -> Void) throws {
        let file = path(customer)
        var lines = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
            .split(separator: "\n").map(String.init)
        change(&lines)
        try AtomicFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: file)
    }

    @Test func `the check of an intact directory finds no problems, also while a store is open`() async throws
    {
        try await fill()
        let result = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(result.conversations == 3)
        #expect(result.lines == 8)
        #expect(result.comparedLines == 7)
        #expect(result.segments == 1)
        let store = try directory.open()
        _ = await store.append(message("m9"))
        #expect(try problems().isEmpty)
        await store.close()
        #expect(try problems().isEmpty)
    }

    @Test func `the check of an empty directory finds no problems`() throws {
        try directory.prepare()
        #expect(try problems().isEmpty)
    }

    @Test func `a missing last line of a conversation is reported`() async throws {
        try await fill()
        try edit(customer) { $0.removeLast() }
        #expect(try problems().map(\.kind) == [.missing])
    }

    @Test func `a missing conversation is reported`() async throws {
        try await fill()
        try Directory.remove(path(customer))
        #expect(try problems().map(\.kind) == Array(repeating: .missing, count: 6))
    }

    @Test func `a missing line in the middle of a conversation is also reported as a gap`() async throws {
        try await fill()
        try edit(customer) { $0.remove(at: 2) }
        #expect(try problems().map(\.kind) == [.sequenceGap, .sequenceGap, .sequenceGap, .missing])
    }

    @Test func `a changed text in a conversation is reported although it is valid JSON`() async throws {
        try await fill()
        try edit(customer) { $0[2] = $0[2].replacing("hello", with: "hullo", maxReplacements: 1) }
        let problems = try problems()
        #expect(problems.map(\.kind) == [.differs])
        #expect(problems.first?.line == 3)
        #expect(problems.first?.file == path(customer))
    }

    @Test func `an invalid, a repeated and a misplaced line of conversations are reported`() async throws {
        try await fill()
        try edit(customer) { $0[0] = "not a line" }
        #expect(try problems().map(\.kind) == [.conversationDamaged, .missing])
        try await again { lines in
            lines.append(lines[1].replacing("\"seq\":2", with: "\"seq\":7", maxReplacements: 1))
        }
        #expect(try problems().map(\.kind) == [.repeated])
        try await again { lines in
            lines[5] = lines[5].replacing("urn:mbid:c", with: "urn:mbid:x", maxReplacements: 1)
        }
        #expect(try problems().map(\.kind) == [.misplaced, .differs])
        try await again { lines in
            lines.append(
                lines[0].replacing("\"seq\":1", with: "\"seq\":7", maxReplacements: 1)
                    .replacing("\"record\":2", with: "\"record\":99", maxReplacements: 1))
        }
        #expect(try problems().map(\.kind) == [.unknownRecord])
    }

    /// Restores the conversation and changes it in another way.
    private func again(_ change: (inout [String]) -> Void) async throws {
        let copy = StoreDirectory()
        try Directory.remove(path(customer))
        let store = try directory.open()
        _ = try await store.rebuild()
        await store.close()
        withExtendedLifetime(copy) {}
        try edit(customer, change)
    }

    @Test func `damage in the journal, a gap and a quarantined segment are reported`() async throws {
        try await fill()
        let name = try #require(try directory.segments().first)
        let sound = try File(directory.journal + "/" + name, for: .reading).readAll()
        var bytes = sound
        bytes[bytes.count / 3] ^= 1
        try directory.write(bytes, to: name)
        #expect(try problems().contains { $0.kind == .journalDamaged && $0.line > 1 })
        try directory.write(sound, to: name)
        try directory.write(journalLine(900, batch: 900, segmentMembers), to: "000000000900.jsonl")
        #expect(try problems().map(\.kind) == [.journalGap])
        try Directory.rename(
            directory.journal + "/000000000900.jsonl", to: directory.journal + "/000000000900.jsonl.damaged")
        #expect(try problems().map(\.kind) == [.journalQuarantined])
    }

    @Test func `an unfinished last line of a conversation is not reported as a problem`() async throws {
        try await fill()
        let name = try #require(try directory.segments().last)
        try File(directory.journal + "/" + name, for: .appending).append(Array("{\"record\":".utf8))
        try File(path(customer), for: .appending).append(Array("{\"seq\":7,".utf8))
        #expect(try problems().isEmpty)
    }
}

/// Conversations that are damaged, quarantined and rebuilt.
struct RebuildTests {
    let directory = StoreDirectory()
    var files: ConversationFiles { ConversationFiles(dataDirectory: directory.path) }
    var path: String { ConversationFixture.path(business, customer) }
    var file: String { directory.path + "/conversations/" + path }

    private func handle(_ id: String, in store: Store) async throws {
        #expect(await store.append(message(id)) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
    }

    private func verify() throws -> [StoreProblem] {
        let found = Mutex<[StoreProblem]>([])
        _ = try StoreVerification.run(dataDirectory: directory.path) { problem in
            found.withLock { $0.append(problem) }
        }
        return found.withLock { $0 }
    }

    private func damage() throws {
        var text = try File(file, for: .reading).readAll()
        text[text.count / 2] = UInt8(ascii: "\n")
        try AtomicFile.write(text, to: file)
    }

    @Test func `a damaged conversation is quarantined, and no line of it is lost`() async throws {
        let store = try directory.open()
        for id in ["1", "2", "3"] { try await handle(id, in: store) }
        await store.close()
        try damage()

        let damaged = try directory.open()
        let aside = StoreError.quarantinedConversation(file: directory.path + "/damaged/" + path)
        #expect(throws: aside) {
            try damaged.recentLines(of: business, customer, maximum: 10)
        }
        #expect(damaged.statistics.quarantinedConversations == 1)
        #expect(directory.log.lines.contains { $0.hasPrefix("critical") })
        #expect(throws: aside) { try files.lines(of: business, customer) }
        #expect(try files.list().isEmpty)
        #expect(try files.quarantined() == [directory.path + "/damaged/" + path])
        #expect(try verify().map(\.kind) == [.conversationQuarantined])
        // Other conversations and the journal accept messages.
        try await handle("4", in: damaged)
        await damaged.close()
        #expect(!Directory.exists(file))

        // The next process knows that the conversation is quarantined.
        let again = try directory.open()
        #expect(throws: aside) { try again.recentLines(of: business, customer, maximum: 10) }
        try await handle("5", in: again)
        let rebuilt = try await again.rebuild()
        #expect(rebuilt.repairedConversations == 1)
        #expect(rebuilt.lostLines == 0)
        #expect(again.statistics.quarantinedConversations == 0)
        let lines = try again.recentLines(of: business, customer, maximum: 10)
        #expect(lines.map(\.id.rawValue) == ["1", "2", "3", "4", "5"])
        #expect(lines.map(\.sequence) == [1, 2, 3, 4, 5])
        try await handle("6", in: again)
        await again.close()
        #expect(try verify().isEmpty)
        #expect(try files.lines(of: business, customer).count == 6)
        #expect(Directory.exists(directory.path + "/damaged/" + path + ".before"))
    }

    @Test(arguments: [false, true])
    func `zeros at the end of a conversation are damage, not an unfinished line`(_ areAllLost: Bool)
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3"] { try await handle(id, in: store) }
        await store.close()
        let whole = try File(file, for: .reading).readAll()
        let feed = try #require(whole.firstIndex(of: UInt8(ascii: "\n")))
        let kept = areAllLost ? 0 : feed + 1
        try AtomicFile.write(whole.prefix(kept) + [UInt8](repeating: 0, count: whole.count - kept), to: file)
        #expect(try verify().map(\.kind).contains(.conversationDamaged))
        #expect(throws: StoreError.damaged(file: file, line: 0)) { try files.lines(of: business, customer) }

        let again = try directory.open()
        #expect(throws: StoreError.quarantinedConversation(file: directory.path + "/damaged/" + path)) {
            try again.recentLines(of: business, customer, maximum: 10)
        }
        #expect(try await again.rebuild().lostLines == 0)
        await again.close()
        #expect(try File(file, for: .reading).readAll() == whole)
    }

    @Test func `a rebuild restores waiting lines beyond the number that is kept in memory`()
        async throws
    {
        let store = try directory.open()
        try await handle("0", in: store)
        await store.close()
        try damage()
        let damaged = try directory.open()
        _ = await damaged.append(message("open"))
        let open = try await damaged.lease()
        damaged.postpone(open, after: .seconds(3600), parks: true)
        for number in 1...1000 { damaged.append(message("\(number)")) { #expect($0 == .stored) } }
        _ = await damaged.append(message("last"))
        for _ in 1...1000 {
            let delivery = try await damaged.lease()
            try await damaged.finish(delivery, result: .handled)
        }
        let last = try await damaged.lease()
        _ = try await damaged.rebuild()
        try await damaged.finish(last, result: .handled)
        await damaged.close()
        let ids = try files.lines(of: business, customer).map(\.id.rawValue)
        #expect(ids == ["0", "open"] + (1...1000).map { "\($0)" } + ["last"])
    }

    @Test func `a delivery that is leased during a rebuild has each of its lines once`() async throws {
        let store = try directory.open()
        for id in ["1", "2"] { try await handle(id, in: store) }
        await store.close()
        try damage()
        let damaged = try directory.open()
        _ = await damaged.append(message("3"))
        let delivery = try await damaged.lease()
        #expect(throws: StoreError.self) {
            try damaged.recentLines(of: business, customer, maximum: 10)
        }
        let reply = DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))
        try await damaged.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        _ = try await damaged.rebuild()
        try await damaged.settleReply(0, of: delivery, .accepted(status: 200))
        try await damaged.finish(delivery, result: .handled)
        await damaged.close()
        #expect(try verify().isEmpty)
        #expect(try files.lines(of: business, customer).map(\.id.rawValue) == ["1", "2", "3", "r"])
    }

    @Test func `a rebuild restores missing conversation lines, and does not change existing ones`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3"] { try await handle(id, in: store) }
        let whole = try File(file, for: .reading).readAll()
        #expect(try await store.rebuild().restoredLines == 0)
        #expect(try File(file, for: .reading).readAll() == whole)
        await store.close()
        let first = whole.prefix { $0 != UInt8(ascii: "\n") } + [UInt8(ascii: "\n")]
        for left in [Array(first), []] {
            try AtomicFile.write(left, to: file)
            #expect(try !verify().isEmpty)
            let reopened = try directory.open()
            #expect(try await reopened.rebuild().restoredLines == (left.isEmpty ? 3 : 2))
            await reopened.close()
            #expect(try File(file, for: .reading).readAll() == whole)
            #expect(try verify().isEmpty)
        }
    }

    /// Manual edits after which all lines of a file are still valid.
    static let edits: [@Sendable (inout [String]) -> Void] = [
        { $0.removeFirst() },
        { $0.remove(at: 1) },
        { $0[2] = $0[2].replacing("hello", with: "hullo", maxReplacements: 1) },
        { $0.append($0[1].replacing("\"seq\":2", with: "\"seq\":5", maxReplacements: 1)) },
        { $0[3] = $0[3].replacing("urn:mbid:c", with: "urn:mbid:x", maxReplacements: 1) },
        { $0.swapAt(0, 1) },
    ]

    @Test(arguments: edits.indices, [false, true])
    func `a rebuild repairs every problem that verify finds in a file`(_ edit: Int, whileOpen: Bool)
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3", "4"] { try await handle(id, in: store) }
        if !whileOpen { await store.close() }
        let whole = try File(file, for: .reading).readAll()
        var lines = String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init)
        Self.edits[edit](&lines)
        try AtomicFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: file)
        let reopened = whileOpen ? store : try directory.open()
        let rebuilt = try await reopened.rebuild()
        #expect(rebuilt.repairedConversations == 1)
        #expect(rebuilt.lostLines == 0)
        try await handle("5", in: reopened)
        await reopened.close()
        #expect(try verify().isEmpty)
        let ids = try files.lines(of: business, customer).map(\.id.rawValue)
        // Reordered lines keep their new order, with new numbers.
        #expect(ids == (edit == 5 ? ["2", "1", "3", "4", "5"] : ["1", "2", "3", "4", "5"]))
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "0"])
    func `an impossible line number is reported as damage, and stops no other check`(_ number: String)
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2"] { try await handle(id, in: store) }
        await store.close()
        let whole = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        let strange = whole.replacing("\"seq\":2,", with: "\"seq\":\(number),")
        try AtomicFile.write(Array(strange.utf8), to: file)
        #expect(try verify().map(\.kind).contains(.conversationDamaged))
        let again = try directory.open()
        try await handle("3", in: again)
        #expect(again.statistics.quarantinedConversations == 1)
        #expect(try await again.rebuild().lostLines == 0)
        await again.close()
        #expect(try files.lines(of: business, customer).map(\.id.rawValue) == ["1", "2", "3"])
    }

    @Test func `an unreadable file delays neither the check nor the rebuild of others`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2"] { try await handle(id, in: store) }
        #expect(await store.append(message("3", from: CustomerID("d"))) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
        await store.close()
        let other = directory.path + "/conversations/" + ConversationFixture.path(business, CustomerID("d"))
        let places = [(file, other), (other, file)]
        for (unreadable, lost) in places {
            let kept = try [unreadable, lost].map { try File($0, for: .reading).readAll() }
            try Directory.remove(unreadable)
            // A link to itself cannot be opened.
            #expect(symlink(unreadable, unreadable) == 0)
            try AtomicFile.write(Array("broken\n".utf8), to: lost)
            #expect(Set(try verify().map(\.kind)).isSuperset(of: [.conversationUnreadable, .missing]))
            let again = try directory.open()
            _ = try await again.rebuild()
            await again.close()
            #expect(try File(lost, for: .reading).readAll() == kept[1])
            #expect(try verify().map(\.kind) == [.conversationUnreadable])
            #expect(directory.log.lines.contains { $0.contains("a conversation could not be rebuilt") })
            try Directory.remove(unreadable)
            try AtomicFile.write(kept[0], to: unreadable)
        }
        #expect(try verify().isEmpty)
    }

    @Test func `an unreadable folder delays no other, and nothing in it is rewritten`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3"] { try await handle(id, in: store) }
        #expect(await store.append(message("4", from: CustomerID("d"))) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
        await store.close()
        let name = ConversationFixture.path(business, customer)
        let folder = Directory.parent(of: file)
        let other = directory.path + "/conversations/" + ConversationFixture.path(business, CustomerID("d"))
        let kept = try [file, other].map { try File($0, for: .reading).readAll() }
        try Directory.rename(folder, to: directory.path + "/away")
        // A link to itself cannot be opened.
        #expect(symlink(folder, folder) == 0)
        try AtomicFile.write(Array("broken\n".utf8), to: other)
        // The state that a server leaves when it cannot move the file.
        let placeholder = directory.path + "/damaged/" + name
        try Directory.make(Directory.parent(of: placeholder))
        try AtomicFile.write([], to: placeholder)
        let kinds = try verify().map(\.kind)
        #expect(kinds.contains(.conversationUnreadable) && kinds.contains(.conversationQuarantined))
        let again = try directory.open()
        _ = try await again.rebuild()
        #expect(again.statistics.quarantinedConversations == 1)
        await again.close()
        #expect(try File(other, for: .reading).readAll() == kept[1])
        #expect(directory.log.lines.count { $0.contains("a conversation could not be rebuilt") } == 1)
        try Directory.remove(folder)
        try Directory.rename(directory.path + "/away", to: folder)
        let reopened = try directory.open()
        #expect(try await reopened.rebuild().lostLines == 0)
        await reopened.close()
        #expect(try File(file, for: .reading).readAll() == kept[0])
        #expect(try verify().isEmpty)
    }

    @Test func `no conversation is quarantined while the journal itself is damaged`() async throws {
        let store = try directory.open()
        for id in ["1", "2"] { try await handle(id, in: store) }
        let name = try #require(try directory.segments().first)
        var bytes = try File(directory.journal + "/" + name, for: .reading).readAll()
        bytes[bytes.count / 3] ^= 1
        try directory.write(bytes, to: name)
        let lines = try File(file, for: .reading).readAll().split(separator: UInt8(ascii: "\n"))
        try AtomicFile.write(Array(lines[1]) + [UInt8(ascii: "\n")], to: file)
        await #expect(throws: StoreError.self) { try await store.rebuild() }
        #expect(Directory.exists(file))
        let result = try StoreVerification.run(dataDirectory: directory.path) { _ in }
        #expect(result.isJournalDamaged)
        await store.close()
    }

    @Test func `a rebuild with a copied conversation file loses no line and leaves no empty file`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3"] { try await handle(id, in: store) }
        let whole = try File(file, for: .reading).readAll()
        let stray = directory.path + "/conversations/evil/zz/x.jsonl"
        try Directory.make(Directory.parent(of: stray))
        try AtomicFile.write(whole + Array("broken\n".utf8), to: stray)
        let rebuilt = try await store.rebuild()
        #expect(rebuilt.repairedConversations == 1)
        // An invalid line may have been a real one.
        #expect(rebuilt.lostLines == 1)
        await store.close()
        #expect(try verify().isEmpty)
        #expect(try File(file, for: .reading).readAll() == whole)
        #expect(try Directory.names(in: directory.path + "/conversations") == ["b"])
        #expect(Directory.exists(directory.path + "/damaged/evil/zz/x.jsonl.before"))
    }

    @Test func `a rebuild counts a line that cannot be restored as lost`() async throws {
        let store = try directory.open()
        for id in ["1", "2"] { try await handle(id, in: store) }
        await store.close()
        // The journal is empty, as if its segments had been deleted long ago.
        for name in try directory.segments() { try Directory.remove(directory.journal + "/" + name) }
        let lines = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self).split(
            separator: "\n")
        try AtomicFile.write(Array(("broken\n" + lines[1] + "\n").utf8), to: file)
        let reopened = try directory.open()
        #expect(throws: StoreError.self) {
            try reopened.recentLines(of: business, customer, maximum: 10)
        }
        let rebuilt = try await reopened.rebuild()
        #expect(rebuilt.lostLines == 1)
        #expect(rebuilt.repairedConversations == 1)
        #expect(
            try reopened.recentLines(of: business, customer, maximum: 10).map(\.id.rawValue) == ["2"])
    }

    @Test func `a rebuild uses a conversation's file from a backup in place of the damaged file`()
        async throws
    {
        let store = try directory.open()
        for id in ["1", "2", "3"] { try await handle(id, in: store) }
        await store.close()
        let whole = try File(file, for: .reading).readAll()
        try damage()
        let reopened = try directory.open()
        #expect(throws: StoreError.self) {
            try reopened.recentLines(of: business, customer, maximum: 10)
        }
        try AtomicFile.write(
            Array(whole.prefix { $0 != UInt8(ascii: "\n") }) + [UInt8(ascii: "\n")], to: file)
        #expect(try await reopened.rebuild().lostLines == 0)
        await reopened.close()
        #expect(try File(file, for: .reading).readAll() == whole)
    }

    @Test func `no segment is deleted while a quarantined conversation needs it`() async throws {
        let store = try directory.open { $0.deduplicationWindow = .zero }
        for id in ["1", "2"] { try await handle(id, in: store) }
        await store.close()
        try damage()
        let damaged = try directory.open {
            $0.deduplicationWindow = .zero
            $0.retentionInterval = .milliseconds(1)
        }
        #expect(throws: StoreError.self) {
            try damaged.recentLines(of: business, customer, maximum: 10)
        }
        try await handle("3", in: damaged)
        #expect(
            await eventually { directory.log.lines.contains { $0.contains("are kept to rebuild damaged") } })
        #expect(try directory.segments().first == "000000000001.jsonl")
        _ = try await damaged.rebuild()
        #expect(try await eventually { try directory.segments().first != "000000000001.jsonl" })
        await damaged.close()
        #expect(try files.lines(of: business, customer).map(\.id.rawValue) == ["1", "2", "3"])
    }
}
