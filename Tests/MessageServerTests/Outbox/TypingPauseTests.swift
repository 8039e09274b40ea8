import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageStore
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// The indicators before automatic messages, and the pauses behind them.
@Suite(.timeLimit(.minutes(10))) struct TypingPauseTests {
    private func kinds(_ test: SenderUnderTest, _ customer: String = "x") -> [String?] {
        test.gateway.messages(for: CustomerID(customer)).map { $0.message.root["type"]?.string }
    }

    private func write(_ id: String, _ act: ReceivedMessage.Act, in test: SenderUnderTest) async throws {
        test.store.startRecording { [store = test.store] in
            try store.write($0, as: act == .closes ? .close : .text)
        }
        let message = ReceivedMessage(
            business: SenderUnderTest.business, customer: CustomerID("x"), id: MessageID(id),
            message: Array("{}".utf8), act: act)
        await withCheckedContinuation { continuation in
            test.store.append(message) { _ in continuation.resume() }
        }
        let delivery = try #require(await test.store.nextDelivery(for: SenderUnderTest.business))
        try await test.store.finish(delivery, result: .handled)
    }

    @Test func `an indicator of a program comes before each automatic message, and none before a person's`()
        async throws
    {
        let test = try await SenderUnderTest()
        test.store.pauseReplies { _, _ in .milliseconds(300) }
        async let first = test.send("1", to: "x")
        async let second = test.send("2", to: "x")
        #expect(try await [first, second] == [.accepted(status: 200), .accepted(status: 200)])
        #expect(kinds(test) == ["typing_start", "text", "typing_start", "text"])
        #expect(test.gateway.messages().map(\.isAutomatic).contains(false) == false)
        let id = MessageID.random()
        let person = ReceivedMessage(
            business: SenderUnderTest.business, customer: CustomerID("y"), id: id,
            message: OutboundMessage.text("3").encodeToSend(
                id: id, from: SenderUnderTest.business, to: CustomerID("y")),
            outboundKind: .text, author: .person(Person(id: "ana")))
        let result = try await test.sender.outcomes.outcome(of: id, within: .seconds(300)) {
            _ = try await test.store.send(person)
            return nil
        }
        #expect(result == .accepted(status: 200))
        #expect(kinds(test, "y") == ["text"])
        await test.stop()
    }

    @Test(arguments: [HTTPStatus.badRequest, .unauthorized, .serviceUnavailable])
    func `an indicator that the gateway refuses costs nothing`(_ status: HTTPStatus) async throws {
        let test = try await SenderUnderTest()
        test.store.pauseReplies { _, _ in .milliseconds(300) }
        test.gateway.misbehave(at: .message, .answer(status))
        #expect(try await test.send("1", to: "x") == .accepted(status: 200))
        #expect(test.gateway.requestCount(.message) == 2)
        #expect(kinds(test) == ["text"])
        #expect(test.sender.pauses.isEmpty)
        #expect(test.sender.unexplainedRefusals == nil)
        await test.stop()
    }

    @Test func `after a kill between the indicator and its message, the message is sent at once and alone`()
        async throws
    {
        let directory = TemporaryDirectory()
        let killed = try await SenderUnderTest(in: directory)
        killed.store.pauseReplies { _, _ in .seconds(3600) }
        await killed.queue("1", to: "x")
        await killed.queue("2", to: "x")
        while killed.gateway.messages().isEmpty { await Task.yield() }
        #expect(kinds(killed) == ["typing_start"])
        await killed.stop()
        let test = try await SenderUnderTest(in: directory)
        test.store.pauseReplies { _, _ in .seconds(3600) }
        while test.store.queuedReplyCount > 0 { await Task.yield() }
        #expect(kinds(test) == ["text", "text"])
        #expect(test.texts() == ["1", "2"])
        await test.stop()
    }

    @Test func `a customer who closed the conversation sees no indicator`() async throws {
        let test = try await SenderUnderTest()
        test.store.pauseReplies { _, _ in .milliseconds(100) }
        try await write("m1", .closes, in: test)
        #expect(try await test.send("1", to: "x")?.status == .dropped)
        #expect(test.gateway.requestCount(.message) == 0)
        await test.stop()
    }

    @Test func `a person who claims the conversation ends the pause`() async throws {
        let test = try await SenderUnderTest()
        test.store.pauseReplies { _, _ in .seconds(3600) }
        async let result = test.send("1", to: "x")
        while test.gateway.messages().isEmpty { await Task.yield() }
        let ana = try #require(Person(id: "ana"))
        _ = try await test.store.assign(.claim(ana, takes: false), SenderUnderTest.business, CustomerID("x"))
        #expect(try await result == .accepted(status: 200))
        #expect(kinds(test) == ["typing_start", "text"])
        await test.stop()
    }

    @Test(arguments: [
        (Kind.text, 1, 1.0), (.text, 80, 1), (.text, 160, 2), (.text, 2000, 3), (.listPicker, 2000, 1),
        (.typingStart, 1, 0), (.close, 1, 0), (.invitation, 1, 0),
    ])
    func `a longer text has a longer pause`(_ kind: Kind, _ characters: Int, _ seconds: Double) {
        let body = String(repeating: "ä", count: characters)
        let reply = DecidedReply(
            id: MessageID("m"), kind: kind, message: JSONWriter.object { $0.field("body", body) })
        #expect(TypingPause().length(before: reply) == (seconds > 0 ? .seconds(seconds) : nil))
    }
}
