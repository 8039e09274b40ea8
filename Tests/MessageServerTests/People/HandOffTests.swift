import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// Hand-offs to people, over a store and a fake gateway.
@Suite struct HandOffTests {
    private static let people = {
        var people = PeopleConfiguration(text: "A colleague answers soon.")
        people.texts[.unclaimed] = Localized("All of us are busy.")
        return people
    }()
    private let customer = CustomerID("c")

    private func start(
        _ handler: any Handler, in directory: TemporaryDirectory = TemporaryDirectory(),
        people: PeopleConfiguration? = people
    ) async throws -> PipelineUnderTest {
        try await PipelineUnderTest(handler, in: directory, people: people)
    }

    private func texts(_ test: PipelineUnderTest) -> [String] {
        test.gateway.messages(for: customer).compactMap { $0.message.root["body"]?.string }
    }

    private func statuses(_ directory: TemporaryDirectory) throws -> [JournalEvent.Status] {
        try JournalFiles(dataDirectory: directory.file("data")).events { _ in true }
            .filter { $0.outboundKind == nil && !$0.isInternal }.map(\.status)
    }

    private func assignment(_ test: PipelineUnderTest) -> Assignment {
        test.store.assignment(of: ServerUnderTest.business, customer)
    }

    @Test func `a conversation waits for a person when the customer asks for one while the handler is down`()
        async throws
    {
        let test = try await start(DownHandler())
        let running = test.run()
        await test.append("hello", from: "c")
        await test.stages.count(1) { $0.stage == .record }
        await test.append(" Help ", from: "c")
        _ = await test.gateway.waitForMessages(count: 1)
        await test.stages.count(2) { $0.stage == .finish }
        #expect(assignment(test).state == .waiting)
        #expect(assignment(test).reason == HandOffs.askedFor)
        await test.append("are you there?", from: "c")
        // The line of the hand-off has a delivery too.
        await test.stages.count(4) { $0.stage == .finish }
        await test.stop(running)
        #expect(texts(test) == ["A colleague answers soon."])
        #expect(try statuses(test.directory) == [.withPerson, .withPerson, .withPerson])
    }

    @Test func `without people a customer's word for a person goes to the handler like any text`()
        async throws
    {
        let handler = RecordingHandler()
        let test = try await start(handler, people: nil)
        let running = test.run()
        await test.append("help", from: "c")
        _ = await test.gateway.waitForMessages(count: 1)
        await test.stop(running)
        #expect(handler.seen.count == 1)
        #expect(try statuses(test.directory) == [.handled])
    }

    @Test(arguments: [
        (people as PeopleConfiguration?, "person", ["A colleague answers soon."], 1),
        (people, "told", ["Sam answers."], 1), (nil, "told", ["Sam answers.", "Sam answers."], 2),
        (nil, "person", [], 2),
    ])
    func `a hand-off sends its replies or the text, and with people the handler gets no more events`(
        _ people: PeopleConfiguration?, _ text: String, _ sent: [String], _ calls: Int
    ) async throws {
        let handler = AskingHandler()
        let test = try await start(handler, people: people)
        let running = test.run()
        for _ in 1...2 { await test.append(text, from: "c") }
        await test.stages.count(2) { $0.stage == .finish }
        _ = await test.gateway.waitForMessages(count: sent.count)
        await test.stop(running)
        #expect(texts(test) == sent)
        #expect(handler.calls.count == calls)
        let second = people == nil ? JournalEvent.Status.handedOff : .withPerson
        #expect(try statuses(test.directory) == [.handedOff, second])
    }

    @Test func `the server answers with the menu instead of a handler that is down`() async throws {
        var people = Self.people
        people.menu = .quickReply(
            try QuickReplyRequest(
                summary: "Which fish?",
                items: [.init("cod", title: "Cod"), .init("sole", title: "Sole")])
        ).orText("Write cod or sole.")
        let test = try await start(DownHandler(), people: people)
        let running = test.run()
        await test.append("Menu!", from: "c")
        _ = await test.gateway.waitForMessages(count: 1)
        await test.append("agent", from: "c")
        _ = await test.gateway.waitForMessages(count: 2)
        await test.append("?", from: "c")
        await test.stages.count(4) { $0.stage == .finish }
        await test.stop(running)
        let sent = test.gateway.messages(for: customer).map(\.message.root)
        #expect(sent.map { $0["type"]?.string } == ["interactive", "text"])
        #expect(try statuses(test.directory) == [.handled, .withPerson, .withPerson])
    }

    @Test func `a customer is told in the language of the last message`() async throws {
        var people = Self.people
        people.texts[.wait]?.languages = ["de": "Gleich."]
        people.texts[.unclaimed]?.languages = ["de": "Noch nicht vergessen."]
        let test = try await start(RecordingHandler(), people: people)
        let running = test.run()
        await test.append("Agent 🙏", from: "c", attachments: #"[],"locale":"de_AT""#)
        _ = await test.gateway.waitForMessages(count: 1)
        let since = try #require(assignment(test).since)
        await test.watch.look(at: since.advanced(by: .seconds(660)))
        _ = await test.gateway.waitForMessages(count: 2)
        await test.stop(running)
        #expect(texts(test) == ["Gleich.", "Noch nicht vergessen."])
    }

    @Test func `a text is sent once, although later processes try again`() async throws {
        let directory = TemporaryDirectory()
        for _ in 1...3 {
            let test = try await start(RecordingHandler(), in: directory)
            let running = test.run()
            // This process hands the conversation off, and ends before it sends the text.
            if assignment(test).state == .handler {
                _ = try await test.store.assign(
                    .handOff(reason: nil), ServerUnderTest.business, customer)
            }
            let since = try #require(assignment(test).since)
            for minute in [0, 1, 11, 12] {
                await test.watch.look(at: since.advanced(by: .seconds(60 * minute)))
            }
            #expect(await eventually { test.store.queuedReplyCount == 0 })
            await test.stop(running)
        }
        let lines = try ConversationFiles(dataDirectory: directory.file("data"))
            .lines(of: ServerUnderTest.business, customer)
        #expect(
            lines.compactMap { $0.message["body"]?.string }
                == ["A colleague answers soon.", "All of us are busy."])
    }

    @Test func `a conversation is put into a queue and overflows, and its customer gets the text once`()
        async throws
    {
        var people = Self.people
        people.queues = ["general", "returns"].map { QueueConfiguration(id: $0) }
        people.queues[1].overflow = .init(queue: "general", time: .seconds(600))
        people.rules = [QueueRule(queue: "returns", words: ["parcel"])]
        let test = try await start(RecordingHandler(), people: people)
        let running = test.run()
        await test.append("my parcel", from: "c")
        _ = await test.gateway.waitForMessages(count: 1)
        await test.append("help", from: "c")
        #expect(await eventually { assignment(test).placement != nil })
        let placed = assignment(test)
        #expect(placed.placement?.queue == "returns" && placed.placement?.rule == "1: word parcel")
        #expect(placed.state == .waiting && placed.reason == HandOffs.askedFor)
        let since = try #require(placed.placement?.since)
        await test.watch.look(at: since.advanced(by: .seconds(599)))
        #expect(assignment(test) == placed)
        await test.watch.look(at: since.advanced(by: .seconds(601)))
        #expect(assignment(test).placement?.rule == "overflow of returns")
        #expect(assignment(test).since == placed.since)
        await test.watch.look(at: since.advanced(by: .seconds(602)))
        _ = await test.gateway.waitForMessages(count: 3)
        await test.stop(running)
        #expect(texts(test) == ["seen: text", "A colleague answers soon.", "All of us are busy."])
    }

    @Test func `the last person is the one who wrote last what Apple accepted, also long ago`() async throws {
        var people = Self.people
        people.queues = ["general", "returns"].map { QueueConfiguration(id: $0) }
        people.rules = [QueueRule(queue: "returns", lastPersonDays: 14)]
        let test = try await start(RecordingHandler(), people: people)
        let (now, business) = (Timestamp.now(), ServerUnderTest.business)
        let written: [(String, kind: String, outcome: String?, person: String?)] =
            [("outbound", "text", "accepted", "ana")]
            + Array(repeating: ("inbound", "text", nil, nil), count: 60)
            + [("internal", "note", nil, "lea"), ("outbound", "text", "refused", "ben")]
        let lines = written.enumerated().map { number, line in
            JSONWriter.object { writer in
                writer.fields([
                    "seq": number + 1, "at": now.rfc3339, "direction": line.0, "id": "m\(number)",
                    "kind": line.kind, "customer": "c", "record": number + 1, "outcome": line.outcome,
                ])
                writer.line(author: line.person.map { .person(Person(id: $0)) })
                writer.object("message") { $0.fields(["type": line.kind, "body": "x"]) }
            } + [UInt8(ascii: "\n")]
        }
        let path =
            test.directory.file("data/conversations/")
            + ConversationPath.file(ConversationKey(business: business, customer: customer))
        try Directory.make(Directory.parent(of: path))
        try AtomicFile.write(lines.flatMap { $0 }, to: path)
        let placement = try await test.watch.route(
            people, in: ConversationID(business: business, customer: customer), wish: nil, at: now)
        #expect(placement.rule == "1: last person ana" && placement.person == "ana")
        await test.stop(test.run())
    }

    @Test(arguments: [
        ("returns", 7, "returns", "the handler", false), ("none", 3, "general", "default", true),
    ])
    func `the queue that the handler names is taken if it exists, with its priority and note`(
        named: String, priority: Int, queue: String, rule: String, isWarned: Bool
    ) async throws {
        var people = Self.people
        people.queues = ["general", "returns"].map { QueueConfiguration(id: $0) }
        let directory = TemporaryDirectory()
        let test = try await start(
            HandingHandler(
                outcome: .handoff(reason: "asked", queue: named, priority: priority, note: "Order 4711")),
            in: directory, people: people)
        let running = test.run()
        await test.append("hi", from: "c")
        #expect(await eventually { assignment(test).placement?.rule != nil })
        let placed = assignment(test)
        #expect(placed.placement?.queue == queue && placed.placement?.rule == rule)
        #expect(placed.placement?.priority == priority && placed.note == "Order 4711")
        #expect(test.log.lines.contains { $0.contains("named an unknown queue") } == isWarned)
        await test.stop(running)
        #expect(texts(test) == ["A colleague answers soon."])
        let again = try await start(RecordingHandler(), in: directory, people: people)
        #expect(assignment(again) == placed)
        await again.stop(again.run())
    }

    @Test func `a release to another person sends no text again`() async throws {
        let test = try await start(RecordingHandler())
        let running = test.run()
        func assign(_ change: AssignmentChange) async throws -> Timestamp {
            let changed = try await test.store.assign(change, ServerUnderTest.business, customer)
            return try #require(changed.since)
        }
        let handedOff = try await assign(.handOff(reason: nil))
        await test.watch.look(at: handedOff.advanced(by: .seconds(11 * 60)))
        _ = await test.gateway.waitForMessages(count: 2)
        _ = try await assign(.claim(#require(Person(id: "ana"))))
        let released = try await assign(.releaseToWaiting(note: "Knows halibut"))
        await test.watch.look(at: released.advanced(by: .seconds(11 * 60)))
        #expect(await eventually { test.store.queuedReplyCount == 0 })
        await test.stop(running)
        #expect(texts(test) == ["A colleague answers soon.", "All of us are busy."])
    }

    @Test func `a handler's message without an event is refused until the person releases the conversation`()
        async throws
    {
        let test = try await start(RecordingHandler())
        let messages = ProactiveMessages()
        messages.open(test.store, CurrentConfiguration())
        let business = ServerUnderTest.business
        func send(_ key: String) async throws {
            _ = try await messages.send(.text("Ready."), from: business, to: customer, key: key)
        }
        try await send("before")
        let person = try #require(Person(id: "ana"))
        _ = try await test.store.assign(.claim(person), business, customer)
        await #expect(throws: HandlerHostError.withPerson) { try await send("while") }
        _ = try await test.store.assign(.releaseToWaiting(), business, customer)
        await #expect(throws: HandlerHostError.withPerson) { try await send("while") }
        let request = try JSONDocument(
            Array(
                #"{"signIn": {"receivedMessage": {"title": "Sign in"}}, "fallback": "Please call us."}"#.utf8)
        )
        _ = try await messages.send(
            .signIn(try SignInRequest(json: request.root)), from: business, to: customer, key: "sign-in")
        _ = try await test.store.assign(.releaseToHandler(), business, customer)
        try await send("after")
        #expect(test.store.queuedReplyCount == 3)
        await test.store.close()
        await test.gateway.stop()
    }

    @Test func `while nobody is there the customer is sent only the text that says so`() async throws {
        let test = try await start(RecordingHandler())
        let running = test.run()
        let closed = try #require(Presence(isOpen: false, text: "Back at 9."))
        try await test.watch.presence.change(ServerUnderTest.business, to: closed)
        await test.append("agent", from: "c")
        await test.stages.count(1) { $0.stage == .finish }
        let since = try #require(assignment(test).since)
        await test.watch.look(at: since.advanced(by: .seconds(11 * 60)))
        #expect(await eventually { test.store.queuedReplyCount == 0 })
        await test.stop(running)
        #expect(texts(test) == ["Back at 9."])
    }

    @Test
    func `a person's first words are sent once for each person, and a transfer is told by its text only`()
        async throws
    {
        var people = Self.people
        people.texts[.opening] = Localized("Hello, this is {name}.")
        people.texts[.transfer] = Localized("A colleague continues.")
        let test = try await start(RecordingHandler(), people: people)
        let running = test.run()
        await test.append("agent", from: "c")
        _ = await test.gateway.waitForMessages(count: 1)
        let business = ServerUnderTest.business
        let name = ConversationID(business: business, customer: customer)
        for id in ["ana", "ana", "lea"] {
            let claimed = try await test.store.assign(
                .claim(#require(Person(id: id))), business, customer)
            for _ in 0..<2 { try await test.watch.sayOpening(in: name, claimed) }
            _ = try await test.store.assign(.releaseToWaiting(), business, customer)
            await test.watch.look(at: .now())
        }
        _ = await test.gateway.waitForMessages(count: 6)
        let lines = try test.store.recentLines(of: business, customer, maximum: 50)
        await test.stop(running)
        let transfer = "A colleague continues."
        #expect(
            texts(test) == [
                "A colleague answers soon.", "Hello, this is ana.", transfer, transfer, "Hello, this is lea.",
                transfer,
            ])
        #expect(lines.compactMap { $0.author?.person?.id } == ["ana", "lea"])
    }

    /// Today and tomorrow are closed; a queue has an hour that is always open.
    @Test(arguments: [
        ("agent", "en", false, "A person answers", "en"), ("agent", "fr", false, "A person answers", "fr"),
        ("agent", "de_AT", true, "Wir antworten", "de"),
        // The language of the text for all others is unknown: digits.
        ("agent", "fr", true, "A person answers", ""),
        ("agent open", "en", false, "Returns answers soon.", ""),
    ])
    func `outside of the hours the customer is told when a person answers, in the language of the text`(
        _ text: String, _ locale: String, _ isTranslated: Bool, _ expected: String, _ language: String
    ) async throws {
        let zone = try #require(TimeZoneFile("UTC"))
        let always = Array(repeating: [OpeningHours.Span(begin: 0, end: 86_400)], count: 7)
        let now = Timestamp.now()
        let day = now.milliseconds.flooredQuotient(by: 86_400_000)
        var dates: [OpeningHours.Date: [OpeningHours.Span]] = [:]
        for distance in -1...1 as ClosedRange<Int64> {
            let date = civilDate(daysSinceEpoch: day + distance)
            dates[.init(year: date.year, month: date.month, day: date.day)] = []
        }
        var people = Self.people
        people.hours = OpeningHours(zone: zone, week: always, dates: dates)
        people.texts[.closed] = Localized(
            "A person answers {opensAt}.", isTranslated ? ["de": "Wir antworten {opensAt}."] : [:])
        people.queues = [QueueConfiguration(id: "general"), QueueConfiguration(id: "returns")]
        people.queues[1].hours = OpeningHours(zone: zone, week: always, dates: [:])
        people.queues[1].texts = [.wait: Localized("Returns answers soon.")]
        people.rules = [QueueRule(queue: "returns", words: ["open"])]
        people.words = CustomerWords(words: Localized(["agent", "agent open"]))
        let test = try await start(RecordingHandler(), people: people)
        let running = test.run()
        await test.append(text, from: "c", attachments: #"[],"locale":"\#(locale)""#)
        await test.stages.count(1) { $0.stage == .finish }
        let messages = await test.gateway.waitForMessages(count: 1)
        await test.stop(running)
        #expect(messages.count == 1)
        let opensAt = Timestamp(milliseconds: (day + 2) * 86_400_000)
        let words = OpeningPhrase.words(for: opensAt, at: now, in: zone, locale: language)
        #expect(texts(test) == [text == "agent" ? "\(expected) \(words)." : expected])
    }

    @Test func `a refused hand-off is tried again, and no text is sent to the customer`() async throws {
        let handler = AskingHandler()
        let test = try await PipelineUnderTest(
            handler, people: Self.people, maximumAssignedConversations: 0)
        let running = test.run()
        for text in ["person", "told"] {
            await test.append(text, from: text)
        }
        await test.stages.count(2) { $0.stage == .handle }
        await test.stop(running)
        #expect(handler.calls.sorted() == ["person", "told"])
        #expect(test.gateway.messages(for: CustomerID("told")).isEmpty)
        #expect(try statuses(test.directory) == [.pending, .pending])
        #expect(test.log.lines.count { $0.contains("hand-off to a person refused") } == 2)
    }

    @Test func `a planned retry ends at once when a person claims the conversation`() async throws {
        let handler = RetryingHandler()
        let test = try await start(handler)
        let running = test.run()
        await test.append("hello", from: "c")
        await test.stages.count(1) { $0.stage == .handle }
        let person = try #require(Person(id: "ana"))
        _ = try await test.store.assign(.claim(person), ServerUnderTest.business, customer)
        await test.stages.count(1) { $0.stage == .finish }
        await test.stop(running)
        #expect(try statuses(test.directory) == [.withPerson])
    }

    @Test func `a step that a damaged conversation prevents is logged once as a warning`() async throws {
        let directory = TemporaryDirectory()
        let test = try await start(RecordingHandler(), in: directory)
        let running = test.run()
        await test.append("hello", from: "c")
        // Once Apple has the reply, its line is written, and the damaged file stays as it is.
        await test.stages.count(1) { $0.stage == .reply }
        let waiting = try await test.store.assign(
            .handOff(reason: nil), ServerUnderTest.business, customer)
        // The line of the hand-off is finished.
        await test.stages.count(2) { $0.stage == .finish }
        await test.stop(running)
        let file =
            directory.file("data") + "/conversations/"
            + ConversationPath.file(
                ConversationKey(business: ServerUnderTest.business, customer: customer))
        try AtomicFile.write(Array("damaged\n".utf8), to: file)
        let again = try await start(RecordingHandler(), in: directory)
        let later = try #require(waiting.since).advanced(by: .seconds(86_400))
        for _ in 1...3 { await again.watch.look(at: later) }
        let entries = again.log.lines.filter { $0.contains("step of a hand-off failed") }
        #expect(entries.map { $0.contains("warning") } == [true, false, false])
        await again.store.close()
        await again.gateway.stop()
    }

    @Test(arguments: [("ana", true), ("ben", false), (nil, true)] as [(String?, Bool)])
    func `a sign of life of another person does not keep the conversation for a silent one`(
        watcher: String?, keeps: Bool
    ) async throws {
        let test = try await start(RecordingHandler())
        let ana = try #require(Person(id: "ana"))
        let claimed = try await test.store.assign(.claim(ana), ServerUnderTest.business, customer)
        let name = ConversationID(business: ServerUnderTest.business, customer: customer)
        let claimedAt = try #require(claimed.since)
        let sign = claimedAt.advanced(by: .seconds(20 * 60))
        let person = watcher.flatMap { Person(id: $0) }
        test.watch.recordReading(of: 3, in: name, by: person, at: sign)
        test.watch.recordSign(in: name, by: person, at: sign)
        await test.watch.look(at: claimedAt.advanced(by: .seconds(30 * 60)))
        #expect((assignment(test).state == .person) == keeps)
        await test.store.close()
        await test.gateway.stop()
    }

    @Test func `a silent person loses the conversation, and after too long a wait the handler answers again`()
        async throws
    {
        let handler = RecordingHandler()
        let test = try await start(handler)
        let running = test.run()
        await test.append("hello", from: "c")
        await test.stages.count(1) { $0.stage == .finish }
        let person = try #require(Person(id: "ana"))
        let claimed = try await test.store.assign(.claim(person), ServerUnderTest.business, customer)
        let claimedAt = try #require(claimed.since)
        await test.watch.look(at: claimedAt.advanced(by: .seconds(29 * 60)))
        #expect(assignment(test).state == .person)
        await test.watch.look(at: claimedAt.advanced(by: .seconds(30 * 60)))
        let waiting = assignment(test)
        #expect(waiting.state == .waiting)
        await test.watch.look(at: .now())
        await test.append("hello?", from: "c")
        await test.stages.count(2) { $0.stage == .finish }
        await test.watch.look(at: try #require(waiting.since).advanced(by: .seconds(1440 * 60)))
        #expect(assignment(test).state == .handler)
        await test.append("anybody?", from: "c")
        await test.append("thanks", from: "c")
        await test.stages.count(4) { $0.stage == .finish }
        _ = await test.gateway.waitForMessages(count: 4)
        await test.stop(running)
        #expect(handler.seen.map(\.afterPerson) == [nil, claimed.began?.sequence, nil])
        #expect(
            texts(test) == [
                "seen: text", "A colleague answers soon.", "seen: text", "seen: text",
            ])
        #expect(try statuses(test.directory) == [.handled, .withPerson, .handled, .handled])
    }
}

/// Asks for a retry in an hour.
private struct RetryingHandler: TextHandler {
    func text(_ text: Text, _ context: Context) -> Outcome { .retry(after: .seconds(3600)) }
}

/// A handler whose provisioning never ends.
private struct DownHandler: TextHandler, LifecycleHandler {
    func provision(_ host: HandlerHost) async throws { throw HandlerHostError.notStored }
    func text(_ text: Text, _ context: Context) -> Outcome { .handled }
}

/// Hands every text off: `told` with a reply.
private final class AskingHandler: TextHandler {
    private let texts = Mutex<[String]>([])

    var calls: [String] { texts.withLock { $0 } }

    func text(_ text: Text, _ context: Context) -> Outcome {
        texts.withLock { $0.append(text.plainBody) }
        let replies: [Reply] = text.plainBody == "told" ? [.text("Sam answers.")] : []
        return .handoff(reason: "asked", replies: replies)
    }
}

/// Answers every text with one outcome.
private struct HandingHandler: TextHandler {
    let outcome: Outcome

    func text(_ text: Text, _ context: Context) async throws -> Outcome { outcome }
}
