import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// The same choice under two message ids, as observed in practice.
@Suite struct RepetitionTests {
    @Test(arguments: [Kind.quickReply, .listPicker, .timePicker, .form])
    func `a repeated choice with another id is recorded, marked and not delivered`(_ kind: Kind)
        async throws
    {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let first = customer.message(kind, id: MessageID("first-0001"))
        #expect(try await customer.post(first).status == 200)
        let second = String(decoding: first, as: UTF8.self).replacing("first-0001", with: "second-002")
        #expect(try await customer.post(Array(second.utf8)).status == 200)
        // This text follows both choices in the conversation: when it is answered, both choices are finished.
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await server.gateway.waitForMessages(count: 2, customer: customer.id).count == 2)
        await server.stop()
        let lines = try server.conversation(of: customer).filter { $0.direction == .inbound }
        #expect(lines.map(\.repeats) == [nil, MessageID("first-0001"), nil])
        #expect(handler.seen.map(\.event.kind) == [kind, .text])
        #expect(try server.journal().contains(#""result":"repeated","original":"first-0001""#))
    }

    @Test(arguments: [Kind.form, .authentication])
    func `a repeated answer whose content is not kept is recorded, marked and not delivered`(_ kind: Kind)
        async throws
    {
        let handler = RecordingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        let answer = String(decoding: customer.message(kind, id: MessageID("first-0001")), as: UTF8.self)
            .replacing(#""dynamic": {"#, with: #""dynamic": {"private": true, "#)
        #expect(try await customer.post(Array(answer.utf8)).status == 200)
        let again = answer.replacing("first-0001", with: "second-002")
        #expect(try await customer.post(Array(again.utf8)).status == 200)
        // Another answer to the same message is a new event.
        let other = answer.replacing("first-0001", with: "third-0003")
            .replacing(#""value": ""#, with: #""value": "no "#)
            .replacing(#""status": ""#, with: #""status": "not "#)
        #expect(other.replacing("third-0003", with: "first-0001") != answer)
        #expect(try await customer.post(Array(other.utf8)).status == 200)
        #expect(await server.gateway.waitForMessages(count: 2, customer: customer.id).count == 2)
        await server.stop()
        let lines = try server.conversation(of: customer).filter { $0.direction == .inbound }
        #expect(lines.map(\.repeats) == [nil, MessageID("first-0001"), nil])
        #expect(handler.seen.map(\.event.id.rawValue) == ["first-0001", "third-0003"])
    }

    @Test
    func `a choice made again after the question was asked again is delivered, and its repetition is not`()
        async throws
    {
        let handler = AskingAgain()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        for round in 1...3 {
            let question = try #require(
                await server.gateway.waitForMessages(count: round, customer: customer.id).last)
            let request = question.message.root["interactiveData"]?["data"]?["requestIdentifier"]?.string
            let choice = """
                {"type":"interactive","interactiveData":{"bid":"\(Interaction.businessExtension)","data":{"version":"1.0",
                "requestIdentifier":"\(try #require(request))","quick-reply":{"selectedIndex":0,"selectedIdentifier":"yes",
                "items":[{"identifier":"yes","title":"Yes"},{"identifier":"no","title":"No"}]}}}}
                """
            // The customer taps twice each time.
            for tap in 1...2 {
                let message = #"{"id":"choice-\#(round)-\#(tap)","# + choice.dropFirst()
                #expect(
                    try await customer.post(customer.message(completing: Array(message.utf8))).status == 200)
            }
            handler.tapped[round - 1].open()
        }
        #expect(await server.gateway.waitForMessages(count: 4, customer: customer.id).count == 4)
        await server.stop()
        let choices = try server.conversation(of: customer).filter {
            $0.kind == .quickReply && $0.direction == .inbound
        }
        #expect(
            choices.map(\.repeats?.rawValue) == [nil, "choice-1-1", nil, "choice-2-1", nil, "choice-3-1"])
        #expect(handler.chosen.withLock(\.self) == ["choice-1-1", "choice-2-1", "choice-3-1"])
    }

    @Test func `an answer is remembered for at least ten and at most twenty seconds`() {
        let answers = RecentAnswers(after: nil)
        var record: UInt64 = 0
        func find(_ tag: UInt64, _ id: String, at: Int64) -> RecentAnswers.Finding {
            record += 1
            let answer = RecentAnswers.Answer(
                id: MessageID(id), record: record, receivedAt: Timestamp(milliseconds: at))
            return answers.find(Self.fingerprint(tag), before: answer)
        }
        let start: Int64 = 1_800_000_000_000
        func isA(_ finding: RecentAnswers.Finding) -> Bool {
            if case .equal(let answer) = finding { answer.id == MessageID("a") } else { false }
        }
        #expect(find(1, "a", at: start) == .first)
        answers.remember(
            RecentAnswers.Answer(
                id: MessageID("a"), record: record, receivedAt: Timestamp(milliseconds: start)),
            as: Self.fingerprint(1))
        // Recorded again after a disk error.
        #expect(find(1, "a", at: start) == .first)
        #expect(isA(find(1, "b", at: start + 10_000)))
        #expect(find(1, "c", at: start + 10_001) == .first)
        #expect(find(2, "d", at: start + 10_001) == .first)
        // The clock was set back.
        #expect(find(1, "e", at: start - 1) == .first)
        #expect(isA(find(1, "f", at: start + 1)))
    }

    @Test
    func `an answer of an earlier process, or dropped above the limit, is looked for in the lines`() {
        let start = Timestamp(milliseconds: 1_800_000_000_000)
        let answers = RecentAnswers(after: start, maximumCount: 2)
        func answer(_ tag: UInt64, after seconds: Int) -> RecentAnswers.Finding {
            let answer = RecentAnswers.Answer(
                id: MessageID("\(tag)"), record: tag, receivedAt: start.advanced(by: .seconds(seconds)))
            defer { answers.remember(answer, as: Self.fingerprint(tag)) }
            return answers.find(Self.fingerprint(tag), before: answer)
        }
        #expect(answer(1, after: 10) == .unknown)
        #expect((2...4).allSatisfy { answer($0, after: 11) == .first })
        #expect(answer(5, after: 11) == .unknown)
        #expect(answer(6, after: 21) == .unknown)
        #expect(answer(7, after: 22) == .first)
        // Processed late: only its own time of arrival counts.
        #expect(answer(8, after: 11) == .unknown)
    }

    private static func fingerprint(_ tag: UInt64) -> RecentAnswers.Fingerprint {
        RecentAnswers.Fingerprint(high: tag, low: 0)
    }

    @Test func `a replay is not a repetition, neither by its id nor by its choice`()
        async throws
    {
        let handler = RecordingHandler()
        let test = try await PipelineUnderTest(handler)
        let now = Timestamp.now()
        for id in ["a", "b"] {
            await withCheckedContinuation { continuation in
                test.store.append(message(id, choice: 1, at: now)) { _ in continuation.resume() }
            }
        }
        let running = test.run()
        await test.log.first { $0.contains("result=repeated") }
        let files = JournalFiles(dataDirectory: test.directory.file("data"))
        #expect(handler.seen.map(\.event.id.rawValue) == ["a"])
        // The test replays both the handled choice and the choice that is marked as its repetition.
        _ = await test.gateway.waitForMessages(count: 1)
        #expect(await eventually { test.store.statistics.pendingDeliveries == 0 })
        let records = try files.events { _ in true }.map(\.record)
        #expect(try await test.store.replay(records).count == 2)
        #expect(await test.gateway.waitForMessages(count: 3).count == 3)
        #expect(handler.seen.map(\.event.id.rawValue) == ["a", "a", "b"])
        await test.stop(running)
        #expect(try files.events { $0.replayOf != nil }.map(\.status) == [.handled, .handled])
    }

    @Test(.timeLimit(.minutes(1))) func `a choice with a long identifier is recognized in time`() throws {
        let name = String(repeating: "\u{301}\u{323}", count: 400_000)
        let answers = RecentAnswers(after: nil)
        func fingerprint(_ name: String) throws -> RecentAnswers.Fingerprint? {
            let json =
                #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"\#(name)","quick-reply":{"selectedIdentifier":"a","selectedIndex":0}}}}"#
            return AnswerContent(InboundEvent.decode(message: try JSONDocument(Array(json.utf8)))).map {
                answers.fingerprint(
                    of: $0, in: ConversationID(business: BusinessID("b"), customer: CustomerID("c")))
            }
        }
        let found = try #require(try fingerprint(name))
        #expect(try fingerprint(name) == found && fingerprint(name + "a") != found)
    }

    /// `asked` is the time at which the answer to the first choice, the same question, was decided.
    @Test(
        arguments: [
            (choice: 1, milliseconds: Int64(10_000), asked: Int64?.none, isRepetition: true),
            (1, 0, nil, true),
            (2, 10_000, nil, false), (1, 10_001, nil, false), (1, -1, nil, false),
            (1, 2000, 1000, false), (1, 1000, 1000, false), (1, 1000, 2000, true),
        ], [Memory.complete, .accepted, .ofEarlierProcess])
    func `a repetition is the same choice within ten seconds, unless its question was asked again before it`(
        _ example: (choice: Int, milliseconds: Int64, asked: Int64?, isRepetition: Bool), _ memory: Memory
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: LogCollector().logger)
        let start = Timestamp(milliseconds: 1_800_000_000_000)
        let later = start.advanced(by: .seconds(60))
        let answers = RecentAnswers(after: nil)
        let found = Mutex<[MessageID?]>([])
        store.startRecording { message in
            // An answer of an earlier process is not in memory.
            let answers = memory == .ofEarlierProcess ? RecentAnswers(after: later) : answers
            let event = InboundEvent.decode(message: try JSONDocument(message.message))
            let first = try store.recentLines(of: message.business, message.customer, maximum: 1).first
            let question = first.flatMap { first in
                example.asked.map { self.question(after: first, at: start.advanced(by: .milliseconds($0))) }
            }
            if memory == .accepted, let question { answers.recordQuestion(in: question) }
            let original = try answers.original(
                of: event, message,
                lines: { try store.recentLines(of: message.business, message.customer, maximum: 10) },
                queued: { memory == .accepted ? [] : question.map { [$0] } ?? [] })
            found.withLock { $0.append(original) }
            return try store.write(message, as: event.kind)
        }
        let times = [start, start.advanced(by: .milliseconds(example.milliseconds))]
        for (id, (choice, time)) in zip(["a", "b"], zip([1, example.choice], times)) {
            store.append(message(id, choice: choice, at: time)) { #expect($0 == .stored) }
            let delivery = try #require(await store.nextDelivery(for: ServerUnderTest.business))
            #expect(delivery.kind == .quickReply)
            try await store.finish(delivery, result: .handled)
        }
        #expect(found.withLock { $0 } == [nil, example.isRepetition ? MessageID("a") : nil])
        await store.close()
    }

    /// How the answers before an example are known.
    enum Memory: CaseIterable {
        /// From memory; the question waits to be sent.
        case complete
        /// From memory; the gateway accepted the question.
        case accepted
        /// From the lines of the conversation.
        case ofEarlierProcess
    }

    /// The queued answer to a choice: its question again.
    private func question(after line: ConversationLine, at: Timestamp) -> OutboxEntry {
        let json = #"{"interactiveData":{"sessionIdentifier":"s","data":{"requestIdentifier":"r"}}}"#
        return OutboxEntry(
            id: ReplyID(record: line.record, index: 0), business: ServerUnderTest.business,
            customer: line.customer,
            reply: DecidedReply(id: MessageID("q"), kind: .quickReply, message: Array(json.utf8)),
            inReplyTo: line.id, decidedAt: at, attempts: 0, author: nil, attributes: ReceivedAttributes(),
            answersFailure: false, isRecovered: false)
    }

    private func message(_ id: String, choice: Int, at: Timestamp) -> ReceivedMessage {
        let business = ServerUnderTest.business
        let message = """
            {"id":"\(id)","v":1,"type":"interactive","sourceId":"urn:mbid:c","destinationId":"\(business.rawValue)",
            "interactiveData":{"bid":"\(Interaction.businessExtension)","sessionIdentifier":"s",
            "data":{"version":"1.0","requestIdentifier":"r","quick-reply":{"selectedIndex":\(choice),
            "items":[{"identifier":"x","title":"X"},{"identifier":"y","title":"Y"},{"identifier":"z","title":"Z"}]}}}}
            """
        return ReceivedMessage(
            business: business, customer: CustomerID("urn:mbid:c"), id: MessageID(id),
            message: Array(message.utf8), receivedAt: at)
    }
}

/// Asks the same reusable question after each text and each choice.
private final class AskingAgain: TextHandler, QuickReplyHandler {
    let chosen = Mutex<[String]>([])
    /// Opened when both taps of a round were posted; the question is asked again after them.
    let tapped = (1...3).map { _ in ReadinessGate() }

    func text(_ text: Text, _ context: Context) async throws -> Outcome { try question() }

    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        let count = chosen.withLock {
            $0.append(context.event.id.rawValue)
            return $0.count
        }
        if count <= tapped.count { _ = await tapped[count - 1].wait() }
        return try question()
    }

    private func question() throws -> Outcome {
        let items = [QuickReplyRequest.Item("yes", title: "Yes"), .init("no", title: "No")]
        return .reply(.quickReply(try QuickReplyRequest(summary: "Sure?", items: items), reusable: true))
    }
}
