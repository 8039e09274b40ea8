import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Disclosure, terms and first answer at the start of a conversation.
@Suite(.timeLimit(.minutes(10))) struct OpeningTests {
    private let customer = CustomerID("c")

    private func start(
        _ handler: any Handler = RecordingHandler(), in directory: TemporaryDirectory = TemporaryDirectory(),
        people: PeopleConfiguration? = nil, answersAfter after: Duration? = nil, isDisclosed: Bool = true
    ) async throws -> PipelineUnderTest {
        try await PipelineUnderTest(handler, in: directory, people: people) { business in
            if isDisclosed {
                business.opening.disclosure = Localized("A robot writes.", ["de": "Ein Automat schreibt."])
                business.opening.terms = RichLink("https://shop.example/terms", title: "Terms", image: nil)
            }
            if let after {
                business.opening.firstAnswer = .init(text: Localized("One moment."), after: after)
            }
        }
    }

    private func texts(_ test: PipelineUnderTest, _ other: CustomerID? = nil) -> [String] {
        test.gateway.messages(for: other ?? customer).map { message in
            message.message.root["body"]?.string ?? message.message.root["richLinkData"]?["title"]?.string
                ?? ""
        }
    }

    private func send(_ text: String, in test: PipelineUnderTest, until count: Int, locale: String? = nil)
        async
    {
        await test.append(text, from: "c", attachments: locale.map { #"[],"locale":"\#($0)""# } ?? "[]")
        _ = await test.gateway.waitForMessages(count: count)
    }

    @Test func `disclosure and terms come before the first reply, and the terms only the first time`()
        async throws
    {
        let handler = RecordingHandler()
        let test = try await start(handler)
        let running = test.run()
        await send("hello", in: test, until: 3)
        await send("more", in: test, until: 4)
        _ = try await test.store.assign(.close, ServerUnderTest.business, customer)
        await send("hallo", in: test, until: 6, locale: "de_AT")
        await test.stop(running)
        #expect(
            texts(test) == [
                "A robot writes.", "Terms", "seen: text", "seen: text", "Ein Automat schreibt.", "seen: text",
            ])
        #expect(handler.seen.map(\.conversation.isNew) == [true, false, true])
        #expect(handler.seen.map(\.conversation.isReturning) == [false, false, true])
        let lines = try ConversationFiles(dataDirectory: test.directory.file("data"))
            .lines(of: ServerUnderTest.business, customer).filter { $0.direction == .outbound }
        #expect(lines.map(\.author) == [.server, .server, .handler, .handler, .server, .handler])
        #expect(test.gateway.messages().map(\.isAutomatic).contains(false) == false)
    }

    @Test func `a disclosure comes before the first automatic message, whoever sends it`() async throws {
        let test = try await start(SilentHandler(), people: PeopleConfiguration(text: "A colleague answers."))
        let running = test.run()
        await test.append("hello", from: "c")
        await test.stages.count(1) { $0.stage == .finish }
        #expect(test.gateway.messages().isEmpty)
        await send("help", in: test, until: 3)
        await test.stop(running)
        #expect(texts(test) == ["A robot writes.", "Terms", "A colleague answers."])
    }

    @Test func `without the settings nothing is added`() async throws {
        let test = try await start(isDisclosed: false)
        let running = test.run()
        await send("hello", in: test, until: 1)
        await test.stop(running)
        #expect(texts(test) == ["seen: text"])
    }

    @Test func `the server answers while the handler takes its time, and the handler's answer follows`()
        async throws
    {
        let handler = BlockingHandler()
        let test = try await start(handler, answersAfter: .milliseconds(50))
        let running = test.run()
        await test.append("block", from: "c")
        await handler.waitForBlocked(1)
        _ = await test.gateway.waitForMessages(count: 3)
        handler.release()
        await test.stages.count(1) { $0.stage == .finish }
        await send("next", in: test, until: 4)
        await test.stop(running)
        #expect(texts(test) == ["A robot writes.", "Terms", "One moment.", "answered"])
        let events = try JournalFiles(dataDirectory: test.directory.file("data")).events {
            $0.outboundKind == nil
        }
        #expect(events.map(\.attempts) == [1, 1])
        #expect(events.map(\.status) == [.handled, .handled])
    }

    @Test func `a handler that has answered, and a hand-off, leave no room for a first answer`() async throws
    {
        let handler = BlockingHandler()
        let test = try await start(
            handler, people: PeopleConfiguration(text: "A colleague answers."),
            answersAfter: .milliseconds(200), isDisclosed: false)
        let running = test.run()
        await send("hello", in: test, until: 1)
        await test.append("help", from: "d")
        _ = await test.gateway.waitForMessages(count: 2)
        // The timers end in order, so those of the others have ended when this one has.
        await test.append("block", from: "e")
        _ = await test.gateway.waitForMessages(count: 3)
        handler.release()
        await test.stop(running)
        #expect(texts(test) == ["answered"])
        #expect(texts(test, CustomerID("d")) == ["A colleague answers."])
        #expect(texts(test, CustomerID("e")) == ["One moment."])
    }

    @Test func `a first answer survives a kill, and neither it nor the disclosure is sent again`()
        async throws
    {
        let directory = TemporaryDirectory()
        let handler = BlockingHandler()
        let killed = try await start(handler, in: directory, answersAfter: .milliseconds(50))
        let running = killed.run()
        await killed.append("block", from: "c")
        await handler.waitForBlocked(1)
        _ = await killed.gateway.waitForMessages(count: 3)
        handler.release()
        await killed.stop(running)
        let test = try await start(in: directory, answersAfter: .milliseconds(50))
        let again = test.run()
        await send("next", in: test, until: 1)
        await test.stop(again)
        #expect(texts(killed) == ["A robot writes.", "Terms", "One moment."])
        #expect(texts(test).filter { $0 != "seen: text" } == [])
    }

    @Test func `a message of the server is dropped when its time is over`() async throws {
        let test = try await start()
        let running = test.run()
        let reply = test.pipelines.opening.reply(
            .text("late"), "firstAnswer", about: 1,
            in: ConversationID(business: ServerUnderTest.business, customer: customer))
        let message = ReceivedMessage(
            reply, in: ConversationID(business: ServerUnderTest.business, customer: customer),
            until: .now().advanced(by: .seconds(-1)))
        let result = try await test.pipelines.sender.outcomes.outcome(of: reply.id, within: .seconds(300)) {
            await withCheckedContinuation { continuation in
                test.store.append(message) { _ in continuation.resume() }
            }
            return nil
        }
        #expect(result?.status == .dropped)
        await test.stop(running)
        #expect(texts(test).isEmpty)
    }
}

/// Handles every text without a reply.
private struct SilentHandler: TextHandler {
    func text(_ text: Text, _ context: Context) -> Outcome { .handled }
}
