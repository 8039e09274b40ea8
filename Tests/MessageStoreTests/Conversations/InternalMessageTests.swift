import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// Notes and the details of customers: records of the journal, lines for people, and small files.
@Suite struct InternalMessageTests {
    private let directory = StoreDirectory()
    private let ana = MessageAuthor.person(person("ana"))

    /// Opens the store, and records every message as its kind.
    private func open() throws -> Store {
        let store = try directory.open()
        store.startRecording { try store.write($0, as: $0.isInternal ? .unrecognized : .text) }
        return store
    }

    private func write(_ messages: [InternalMessage], in store: Store) async throws {
        for message in messages { try await store.record(message, by: ana, of: business, customer) }
    }

    private func files(in folder: String) throws -> [String] {
        try Directory.names(in: folder).map { folder + "/" + $0 }.flatMap {
            Directory.isDirectory($0) ? try files(in: $0) : [$0]
        }
    }

    private func text(_ path: String) -> String {
        // A file that cannot be read has no text of a customer.
        String(decoding: (try? File(path, for: .reading).readAll()) ?? [], as: UTF8.self)
    }

    private func end(_ count: Int, in store: Store) async throws {
        for _ in 0..<count {
            let delivery = try await store.lease()
            try await store.finish(delivery, result: delivery.isInternal ? .withPerson : .handled)
        }
    }

    @Test func `a note is a line for people at its place, with its author, before and after a restart`()
        async throws
    {
        var store = try open()
        #expect(await store.append(message("m1")) == .stored)
        try await write([.note("Wants the blue one.")], in: store)
        #expect(await store.append(message("m2")) == .stored)
        await store.scheduler.finishRecordings()
        try await end(3, in: store)
        for _ in 1...2 {
            let lines = try store.recentLines(of: business, customer, maximum: 9)
            #expect(lines.map(\.direction) == [.inbound, .internal, .inbound])
            #expect(lines.map(\.kindName) == ["text", "note", "text"])
            #expect(lines[1].message["body"]?.string == "Wants the blue one." && lines[1].author == ana)
            #expect(lines[1].internalSummary == "note: Wants the blue one.")
            #expect(try !store.isClosedByCustomer(business, customer))
            await store.close()
            _ = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
            store = try open()
        }
        await store.close()
    }

    @Test func `a note does not open a conversation that the customer closed`() async throws {
        let store = try directory.open()
        store.startRecording { try store.write($0, as: $0.isInternal ? .unrecognized : .close) }
        let close = ReceivedMessage(
            business: business, customer: customer, id: MessageID("m1"), message: Array("{}".utf8),
            act: .closes)
        #expect(await store.append(close) == .stored)
        try await write([.note("Closed.")], in: store)
        #expect(try store.isClosedByCustomer(business, customer))
        try await end(2, in: store)
        #expect(try store.isClosedByCustomer(business, customer))
        await store.close()
    }

    @Test func `names and tags are the sum of their changes, and the state of the handler stays`()
        async throws
    {
        var store = try open()
        #expect(await store.append(message("m1")) == .stored)
        let delivery = try await store.lease()
        let outcome = DecidedOutcome(.handled, state: Array(#"{"step":2}"#.utf8))
        #expect(try await store.decide(delivery, outcome))
        try await store.finish(delivery, result: .handled)
        try await write(
            [
                .customer(name: "Ana", addTags: ["vip", "new"]),
                .customer(name: nil, addTags: ["vip", "b2b"], removeTags: ["new"]),
            ], in: store)
        try await end(2, in: store)
        for _ in 1...2 {
            let details = try store.details(of: business, customer)
            #expect(details.name == "Ana" && details.tags == ["b2b", "vip"])
            #expect(try await store.state(of: business, customer) == Array(#"{"step":2}"#.utf8))
            await store.close()
            store = try open()
        }
        try await write([.customer(name: "")], in: store)
        #expect(try store.details(of: business, customer).name == nil)
        await store.close()
    }

    @Test func `tags over the limit are ignored`() {
        var details = CustomerDetails()
        let tags = (0...CustomerDetails.maximumTags).map { "t\($0)" }
        let text = InternalMessage.customer(name: nil, addTags: tags).json(of: "b")
        guard let message = (try? JSONDocument(text))?.root else { return }
        details.apply(message)
        #expect(details.tags.count == CustomerDetails.maximumTags)
    }

    @Test func `a choice in an older list of types ends no withdrawal`() throws {
        var details = CustomerDetails()
        let at = Timestamp(milliseconds: 0)
        for (isGiven, types, isGivenAfter) in [
            (true, ["news"], true), (false, [], false), (true, ["news"], false), (true, [], true),
        ] {
            let answer = InternalMessage.consent(Consent(isGiven: isGiven, at: at, words: nil, types: types))
            details.apply(try JSONDocument(answer.json(of: "b")).root)
            #expect(details.consent?.isGiven == isGivenAfter, "\(types)")
        }
    }

    @Test func `a search finds a name, a tag and a note, and no removed tag`() async throws {
        let store = try open()
        store.keepIndex(true)
        #expect(await store.append(message("m1")) == .stored)
        try await write(
            [
                .customer(name: "Zoë Lang", addTags: ["vip", "gone"]), .note("Prefers mornings."),
                .customer(name: nil, removeTags: ["gone"]),
            ], in: store)
        try await end(4, in: store)
        #expect(await eventually { store.indexPhase == .ready })
        let query = Store.ConversationQuery(of: business)
        func found(_ text: String?, tag: String? = nil) throws -> Int? {
            try store.search(query, for: text, tag: tag)?.conversations.count
        }
        for text in ["zoë", "VIP", "mornings", "hello"] { #expect(try found(text) == 1, "\(text)") }
        #expect(try found("gone") == 0)
        #expect(try found(nil, tag: "vip") == 1)
        #expect(try found("mornings", tag: "gone") == 0)
        await store.close()
    }

    @Test func `an erasure removes notes, names and tags from every file`() async throws {
        let store = try open()
        #expect(await store.append(message("m1")) == .stored)
        try await write(
            [.note("A secret note."), .customer(name: "Secret Name", addTags: ["secret-tag"])], in: store)
        try await end(3, in: store)
        #expect(try files(in: directory.path).contains { text($0).contains("ecret") })
        _ = try await store.erase([customer])
        await store.close()
        #expect(try files(in: directory.path).filter { text($0).contains("ecret") } == [])
        let reopened = try open()
        #expect(try reopened.details(of: business, customer) == CustomerDetails())
        await reopened.close()
    }
}
