import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import TestSupport
import Testing

struct ConversationTests {
    let directory = StoreDirectory()
    var files: ConversationFiles { ConversationFiles(dataDirectory: directory.path) }

    /// `conversations/<business>/<2 hex>/<sha256>.jsonl`, computed independently of the store.
    func path(_ business: String, _ customer: String) -> String {
        let hash = Hex.encode(SHA256.hash(Array(customer.utf8)))
        return directory.path + "/conversations/\(business)/\(hash.prefix(2))/\(hash).jsonl"
    }

    /// Stores, leases, records and finishes a message.
    func handle(_ message: ReceivedMessage, in store: Store) async throws {
        #expect(await store.append(message) == .stored)
        let delivery = try await store.lease(message.business)
        try await store.finish(delivery, result: .handled)
    }

    @Test func `a conversation line has the documented members, in the documented order`() async throws {
        let store = try directory.open(recordingAs: .listPicker)
        let received = ReceivedMessage(
            business: business, customer: customer, id: MessageID("m1"), message: Array("{\"a\":\r\n1}".utf8),
            receivedAt: Timestamp(milliseconds: 1_795_255_200_123))
        _ = await store.append(received)
        let delivery = try await store.lease()
        let reply = DecidedReply(id: MessageID("r1"), kind: .quickReply, message: Array("{\"b\":2}".utf8))
        try await store.decide(delivery, DecidedOutcome(.handled, replies: [reply]))
        try await store.settleReply(0, of: delivery, .refused(status: 400, reason: "why"))
        let text = try File(path("b", "urn:mbid:c"), for: .reading).readAll()
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(
            lines.first == #"""
                {"seq":1,"at":"2026-11-21T10:00:00.123Z","direction":"inbound","id":"m1","kind":"listPicker","customer":"urn:mbid:c","record":2,"message":{"a":  1}}
                """#)
        let second = try JSONDocument(Array(lines[1].utf8)).root
        let names = second.members.map(\.key)
        #expect(
            names == [
                "seq", "at", "direction", "id", "kind", "customer", "record", "outcome", "status", "author",
                "message",
            ])
        #expect(second["direction"]?.string == "outbound")
        #expect(second["outcome"]?.string == "refused")
        #expect(second["status"]?.int == 400)
        #expect(Timestamp(rfc3339: second["at"]?.string ?? "") != nil)
    }

    @Test(arguments: [
        ("a884eddf-0c47-4b3e-9c1f-3f2d7c1e5a60", true), ("A.b_c", true),
        (String(repeating: "a", count: 100), true),
        (String(repeating: "a", count: 101), false), (".", false), ("..", false), (".hidden", false),
        ("x-y", false),
        ("a/b", false), ("ü", false), ("a b", false), ("", false), ("a\u{0}", false),
    ])
    func `a business's folder is named by the id if that is a valid name, otherwise by its hash`(
        id: String, isName: Bool
    )
        async throws
    {
        let store = try directory.open()
        let strange = "../../urn:mbid:\u{0}/+="
        try await handle(message("m1", from: CustomerID(strange), to: BusinessID(id)), in: store)
        let folder = isName ? id : "x-" + Hex.encode(SHA256.hash(Array(id.utf8)))
        #expect(Directory.exists(path(folder, strange)))
        #expect(try Directory.names(in: directory.path + "/conversations") == [folder])
        #expect(try files.lines(of: BusinessID(id), CustomerID(strange)).count == 1)
    }

    @Test func `line numbers continue without gaps after a restart, and no line is repeated`() async throws {
        let store = try directory.open()
        for number in 1...3 { try await handle(message("m\(number)"), in: store) }
        _ = await store.append(message("m4"))
        let delivery = try await store.lease()
        store.postpone(delivery, after: .zero)
        _ = try await store.lease()

        let copy = try directory.copy()
        let reopened = try copy.open()
        let recovered = try await reopened.lease()
        try await reopened.finish(recovered, result: .handled)
        _ = await reopened.append(message("m5"))
        _ = try await reopened.lease()
        let lines = try ConversationFiles(dataDirectory: copy.path).lines(of: business, customer)
        #expect(lines.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(lines.map(\.id.rawValue) == ["m1", "m2", "m3", "m4", "m5"])
    }

    @Test func `conversation lines lost by a power failure are restored from the journal`() async throws {
        let store = try directory.open(recordingAs: .form) { $0.checkpointInterval = .seconds(3600) }
        for number in 1...3 { try await handle(message("m\(number)"), in: store) }
        _ = await store.append(message("m4"))
        let delivery = try await store.lease()
        let replies = ["r1", "r2"].map {
            DecidedReply(id: MessageID($0), kind: .text, message: Array("{}".utf8))
        }
        try await store.decide(delivery, DecidedOutcome(.handled, replies: replies))
        try await store.settleReply(0, of: delivery, .accepted(status: 200))
        let whole = try files.lines(of: business, customer)
        #expect(whole.count == 5)

        // The copy also has the lazy records, which were synced together with awaited ones.
        let copy = try directory.copy()
        let file = copy.path + path("b", "urn:mbid:c").dropFirst(directory.path.count)
        let text = try File(file, for: .reading).readAll()
        let firstLine = text.prefix { $0 != UInt8(ascii: "\n") } + [UInt8(ascii: "\n")]
        for left in [Array(firstLine), Array(firstLine + text.dropFirst(firstLine.count).prefix(9)), []] {
            try AtomicFile.write(left, to: file)
            let reopened = try copy.open { $0.lazyDelay = .seconds(3600) }
            let lines = try reopened.recentLines(of: business, customer, maximum: 100)
            #expect(lines.map(\.sequence) == [1, 2, 3, 4, 5])
            #expect(lines.map(\.id) == whole.map(\.id))
            #expect(lines.map(\.kind) == whole.map(\.kind))
            #expect(lines.map(\.at) == whole.map(\.at))
            #expect(lines.map(\.outcome) == whole.map(\.outcome))
            try Directory.remove(copy.path + "/lock")
        }
    }

    @Test func `a checkpoint names the last record whose conversation lines are on disk`() async throws {
        let store = try directory.open { $0.checkpointInterval = .milliseconds(1) }
        try await handle(message("m1"), in: store)
        #expect(try await eventually { try !directory.records("checkpoint").isEmpty })
        let checkpoint = try #require(directory.records("checkpoint").first)
        let through = try #require(checkpoint["through"]?.int)
        #expect(through >= 2)
        #expect(through < checkpoint["record"]?.int ?? 0)
        await store.close()
        // No delivery finished since then, so a later loss is not caused by a power failure and is not
        // restored.
        try Directory.remove(path("b", "urn:mbid:c"))
        let last = try #require(directory.records("checkpoint").last?["through"]?.int)
        let finished = try #require(directory.records("finished").last?["record"]?.int)
        let reopened = try directory.open()
        let lines = try reopened.recentLines(of: business, customer, maximum: 10)
        #expect(lines.isEmpty == (last >= finished))
    }

    @Test func `the last lines of a long conversation are read from its end`() async throws {
        let store = try directory.open()
        let long = String(repeating: "x", count: 3000)
        for number in 1...30 { try await handle(message("m\(number)", text: long), in: store) }
        for maximum in [1, 2, 7, 29, 30, 31, 1000] {
            let lines = try store.recentLines(of: business, customer, maximum: maximum)
            #expect(lines.map(\.sequence) == Array(max(1, 31 - maximum)...30))
        }
        let text = try File(path("b", "urn:mbid:c"), for: .reading).readAll()
        let oneBytes = try #require(text.split(separator: UInt8(ascii: "\n")).last).count
        for count in [1, 2, 3, 12] {
            let bound = count * (oneBytes + 1) + 40
            let lines = try store.recentLines(of: business, customer, maximum: 20, maximumBytes: bound)
            #expect(lines.map(\.sequence) == Array((31 - count)...30))
        }
        #expect(try store.recentLines(of: business, customer, maximum: 9, maximumBytes: 1).count == 1)
        #expect(try store.recentLines(of: business, customer, maximum: 0).isEmpty)
        #expect(try store.recentLines(of: business, CustomerID("nobody"), maximum: 5).isEmpty)
        #expect(!Directory.exists(path("b", "nobody")))
    }

    @Test
    func `an unfinished last line of a conversation is removed before writing and ignored when reading`()
        async throws
    {
        let store = try directory.open()
        try await handle(message("m1"), in: store)
        await store.close()
        let file = path("b", "urn:mbid:c")
        try File(file, for: .appending).append(Array("{\"seq\":2,\"at".utf8))
        #expect(try files.lines(of: business, customer).map(\.sequence) == [1])
        #expect(try files.list().map(\.lines) == [1])
        let reopened = try directory.open()
        try await handle(message("m2"), in: reopened)
        #expect(try files.lines(of: business, customer).map(\.sequence) == [1, 2])
    }

    @Test func `reading a damaged conversation throws and never returns an empty conversation`() async throws
    {
        let store = try directory.open()
        for number in 1...3 { try await handle(message("m\(number)"), in: store) }
        await store.close()
        let file = path("b", "urn:mbid:c")
        var text = try File(file, for: .reading).readAll()
        text[text.count / 2] = UInt8(ascii: "\n")
        try AtomicFile.write(text, to: file)
        #expect(throws: StoreError.damaged(file: file, line: 2)) { try files.lines(of: business, customer) }
        let reopened = try directory.open()
        #expect(throws: StoreError.self) {
            try reopened.recentLines(of: business, customer, maximum: 10)
        }
        // Another conversation is not affected.
        try await handle(message("other", from: CustomerID("urn:mbid:d")), in: reopened)

        await reopened.close()
        let aside = directory.path + "/damaged/" + ConversationFixture.path(business, customer)
        try Directory.remove(aside)

        try AtomicFile.write(Array("not a line\n".utf8), to: file)
        let third = try directory.open()
        _ = await third.append(message("m4"))
        _ = try await third.lease()
        // The new line waits for the rebuild; the file is not changed.
        #expect(try File(aside, for: .reading).readAll() == Array("not a line\n".utf8))
        #expect(!Directory.exists(file))
    }

    @Test func `line numbers stay correct when there are more conversations than open files`() async throws {
        let store = try directory.open()
        for round in 1...3 {
            for number in 1...200 {
                try await handle(message("m\(round)-\(number)", from: CustomerID("c\(number)")), in: store)
            }
        }
        await store.close()
        let list = try files.list()
        #expect(list.count == 200)
        #expect(list.allSatisfy { $0.lines == 3 && $0.business == business })
        #expect(list.map(\.customer.rawValue) == list.map(\.customer.rawValue).sorted())
        #expect(
            try files.lines(of: business, CustomerID("c77")).map(\.id.rawValue) == [
                "m1-77", "m2-77", "m3-77",
            ])
    }

    @Test func `the list of conversations in an empty directory is empty`() throws {
        #expect(try files.list().isEmpty)
    }
}
