import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// Messages without an event: who wrote them, and who claims the conversation with them.
@Suite struct AuthorTests {
    private let directory = StoreDirectory()
    private let ana = person("ana", name: "Ana")
    private let ben = person("ben")

    private func outbound(_ id: String, by author: MessageAuthor?) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array("{\"id\":\"\(id)\",\"type\":\"text\",\"body\":\"hello\"}".utf8),
            outboundKind: .text,
            author: author)
    }

    private func settleAll(_ store: Store) async throws {
        while let entry = store.leaseReply() { try await store.settle(entry, .accepted(status: 200)) }
    }

    @Test func `a person's message claims the conversation in the message's own record`() async throws {
        let store = try directory.open()
        #expect(try await store.send(outbound("s1", by: .person(ana))) == .stored)
        let claimed = store.assignment(of: business, customer)
        #expect(claimed.person == ana)
        #expect(claimed.began?.record == claimed.record)
        #expect(try directory.records("assignment").isEmpty)
        let copy = try directory.copy()
        let reopened = try copy.open()
        #expect(reopened.assignment(of: business, customer) == claimed)
        await reopened.close()
        await #expect(throws: StoreError.assignment(.claimed(by: ana))) {
            try await store.send(outbound("s2", by: .person(ben)))
        }
        #expect(try await store.send(outbound("s1", by: .person(ana))) == .duplicate)
        #expect(try await store.send(outbound("s3", by: .person(ben)), takes: true) == .stored)
        #expect(store.assignment(of: business, customer).person == ben)
        // The message is stored already, so its repetition is not a second claim.
        #expect(try await store.send(outbound("s1", by: .person(ana))) == .duplicate)
        #expect(store.assignment(of: business, customer).person == ben)
        await store.close()
    }

    @Test func `followers see the claim that a person's message makes, at once and in the journal`()
        async throws
    {
        let store = try directory.open()
        var source = await store.followEvents()
        #expect(try await store.send(outbound("s1", by: .person(ana))) == .stored)
        #expect(try await store.send(outbound("s2", by: .person(ana))) == .stored)
        let events = source.next() ?? []
        #expect(
            events.map(\.event.name) == [.messageQueued, .conversationClaimed, .messageQueued])
        #expect(events.map(\.event.assignment?.person) == [nil, ana, nil])
        var past = try store.pastEvents(
            after: 0, through: store.journal.lastRecord, excluding: EventExclusion(keys: [], records: []))
        #expect(try past.readAll().map(\.event.key) == events.map(\.event.key))
        await store.close()
    }

    @Test func `while a person answers, a program's message is refused and the server's is not`() async throws
    {
        let store = try directory.open()
        #expect(try await store.send(outbound("s1", by: .handler)) == .stored)
        _ = try await store.assign(.handOff(reason: nil), business, customer)
        for author in [MessageAuthor.handler, .program] {
            await #expect(throws: StoreError.assignment(.withPerson(nil))) {
                try await store.send(outbound("s2", by: author))
            }
        }
        #expect(try await store.send(outbound("s3", by: .server)) == .stored)
        #expect(try await store.send(outbound("s4", by: .person(nil))) == .stored)
        #expect(store.assignment(of: business, customer).state == .waiting)
        _ = try await store.assign(.claim(ana), business, customer)
        await #expect(throws: StoreError.assignment(.withPerson(ana))) {
            try await store.send(outbound("s5", by: .program))
        }
        await store.close()
    }

    @Test func `a person's message is a sign of life`() async throws {
        let store = try directory.open()
        let claimed = try await store.assign(.claim(ana), business, customer)
        let sent = outbound("s1", by: .person(ana))
        #expect(try await store.send(sent) == .stored)
        let seen = store.assignment(of: business, customer)
        #expect(seen.record == claimed.record)
        #expect(seen.lastSeen == sent.receivedAt)
        let copy = try directory.copy()
        let reopened = try copy.open()
        #expect(reopened.assignment(of: business, customer) == seen)
        await reopened.close()
        await #expect(throws: StoreError.assignment(.changed)) {
            try await store.assign(
                .silence(since: sent.receivedAt.advanced(by: .milliseconds(-1))), business, customer)
        }
        #expect(
            try await store.assign(.silence(since: sent.receivedAt), business, customer).state == .waiting)
        await store.close()
    }

    @Test func `lines of sent messages name their author, and verify agrees`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        let delivery = try await store.lease()
        try await store.decide(
            delivery,
            DecidedOutcome(
                .handled, replies: [DecidedReply(id: MessageID("r"), kind: .text, message: Array("{}".utf8))],
                author: .handler))
        try await store.finish(delivery, result: .handled)
        for (number, author) in [MessageAuthor.program, .server, .person(nil), .person(ana)].enumerated() {
            #expect(try await store.send(outbound("s\(number)", by: author)) == .stored)
        }
        // Records that an earlier version of the server wrote.
        #expect(try await store.send(outbound("old", by: nil)) == .stored)
        #expect(try await store.send(outbound("older", by: .unnamedPerson)) == .stored)
        try await settleAll(store)
        await store.close()
        let lines = try ConversationFiles(dataDirectory: directory.path).lines(of: business, customer)
        #expect(
            lines.filter { $0.direction == .outbound }.map(\.author)
                == [.handler, .program, .server, .person(nil), .person(ana), nil, nil])
        let verified = try StoreVerification.run(dataDirectory: directory.path) { Issue.record("\($0)") }
        #expect(verified.comparedLines == 8)
        let file =
            directory.path + "/conversations/"
            + ConversationPath.file(ConversationKey(business: business, customer: customer))
        let text = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        #expect(text.contains("\"author\":\"person\",\"person\":{\"id\":\"ana\",\"name\":\"Ana\"}"))
        try Directory.remove(file)
        let reopened = try directory.open()
        #expect(try await reopened.rebuild().restoredLines == 8)
        await reopened.close()
        #expect(String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self) == text)
    }
}
