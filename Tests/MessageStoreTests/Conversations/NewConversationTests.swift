import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// Which messages begin a new conversation.
@Suite struct NewConversationTests {
    private let directory = StoreDirectory()

    private func open(in directory: StoreDirectory? = nil, silence: Duration = .seconds(3600)) throws -> Store
    {
        let store = try (directory ?? self.directory).open(recordingAs: nil)
        store.startRecording { message in
            let name = message.id.rawValue
            let kind: Kind =
                name.hasPrefix("close") ? .close : name.hasPrefix("typing") ? .typingStart : .text
            return try store.write(message, as: kind, silence: silence)
        }
        return store
    }

    private func message(_ id: String, after seconds: Int) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array(#"{"id":"\#(id)"}"#.utf8),
            act: id.hasPrefix("typing") ? .neither : id.hasPrefix("close") ? .closes : .writes,
            receivedAt: Timestamp(milliseconds: 1_000_000).advanced(by: .seconds(seconds)))
    }

    private func receive(_ id: String, after seconds: Int, in store: Store) async throws -> Delivery {
        #expect(await store.append(message(id, after: seconds)) == .stored)
        let delivery = try await store.lease()
        try await store.finish(delivery, result: .handled)
        return delivery
    }

    @Test func `the first message, one after a silence, and one after a close begin a conversation`()
        async throws
    {
        let store = try open()
        let times = [
            ("a", 0), ("b", 3599), ("c", 7199), ("close", 7300), ("d", 7400), ("typing", 11_000),
            ("e", 11_001),
        ]
        var lasts: [String: Int?] = [:]
        for (id, seconds) in times {
            let begins = try await receive(id, after: seconds, in: store).begins
            guard let begins else { continue }
            lasts.updateValue(
                begins.lastContact.map { Int(($0.milliseconds - 1_000_000) / 1000) }, forKey: id)
        }
        #expect(lasts == ["a": nil, "c": 3599, "d": 7300, "e": 7400])
        await store.close()
        #expect(try directory.records("began").compactMap { $0["of"]?.int }.count == 4)
        #expect(try StoreVerification.run(dataDirectory: directory.path, report: { _ in }).problems == 0)
    }

    @Test func `an accepted message of the business ends the silence, and a refused one does not`()
        async throws
    {
        let store = try open()
        for (id, result) in [
            ("k1", ReplyResult.refused(status: 400, reason: "")), ("k2", .accepted(status: 200)),
        ] {
            let delivery = try await receive("m" + id, after: 0, in: store)
            withExtendedLifetime(delivery) {}
            let sent = ReceivedMessage(
                business: business, customer: customer, id: MessageID(id), message: Array("{}".utf8),
                outboundKind: .text)
            #expect(await store.append(sent) == .stored)
            try await store.settle(try #require(store.leaseReply()), result)
        }
        // The accepted message has the time of its end, long after the customer's messages.
        #expect(try await receive("late", after: 7200, in: store).begins == nil)
        await store.close()
    }

    @Test(arguments: [true, false])
    func `the customer's message after a close by the business begins a conversation`(restarts: Bool)
        async throws
    {
        var store = try open()
        #expect(try await receive("a", after: 0, in: store).begins != nil)
        _ = try await store.assign(.close, business, customer)
        if restarts {
            await store.close()
            store = try open()
        }
        #expect(try await receive("b", after: 1, in: store).begins != nil)
        #expect(try await receive("c", after: 2, in: store).begins == nil)
        await store.close()
    }

    @Test func `a kill before the line leaves the decision, whatever the setting is then`() async throws {
        let store = try directory.open(recordingAs: nil)
        #expect(await store.append(message("close-by-business", after: 0)) == .stored)
        #expect(await store.append(message("a", after: 1)) == .stored)
        await store.journal.flush()
        let unrecorded = try directory.copy()
        let first = try open(in: unrecorded)
        await first.rest()
        #expect(try await first.lease().begins == nil)
        await first.journal.flush()
        let recorded = try unrecorded.copy()
        await first.close()
        let second = try open(in: recorded, silence: .seconds(1))
        let close = try await second.lease()
        try await second.finish(close, result: .handled)
        #expect(
            try await second.lease().begins
                == NewConversation(lastContact: Timestamp(milliseconds: 1_000_000)))
        await second.close()
        await store.close()
        withExtendedLifetime((unrecorded, recorded)) {}
    }

    @Test func `closing a file and opening it again keeps what was read of it`() {
        var contact = Contact()
        let at = Timestamp(milliseconds: 5)
        #expect(
            contact.next(at: at, isReopened: false, silence: .seconds(1)) == NewConversation(lastContact: nil)
        )
        contact.at = at
        #expect(contact.next(at: at, isReopened: false, silence: .seconds(1)) == nil)
        #expect(
            contact.next(at: at, isReopened: true, silence: .seconds(1)) == NewConversation(lastContact: at))
        let later = at.advanced(by: .seconds(1))
        #expect(
            contact.next(at: later, isReopened: false, silence: .seconds(1))
                == NewConversation(lastContact: at))
    }
}
