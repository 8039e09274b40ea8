import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

/// The events that are made from the store's changes: their order, and the place of each event.
@Suite struct EventFoldTests {
    static let key = ConversationKey(business: business, customer: customer)
    static let at = Timestamp(milliseconds: 1_000)

    /// One change in a short notation.
    enum Step: Sendable {
        case message(UInt64)
        case proactive(UInt64)
        case replay(UInt64)
        case outcome(UInt64, of: UInt64, [String])
        case reply(UInt64, of: UInt64, String, ReplyState.Status)
        case parked(UInt64, of: UInt64)
        case finished(UInt64, of: UInt64, isDead: Bool = false)
        case other(UInt64)
        case line(of: UInt64, String? = nil, seq: Int?)

        var change: DurableChange {
            switch self {
            case .message(let number): record(number, Self.message(number))
            case .proactive(let number): record(number, Self.message(number, .text))
            case .replay(let number): record(number, Self.message(number, replayOf: 7))
            case .outcome(let number, let of, let ids):
                record(
                    number,
                    JournalBody.outcome(
                        of: of, attempt: 1, kind: .text,
                        DecidedOutcome(.handled, replies: ids.map(Self.reply)), at: at))
            case .reply(let number, let of, let id, let status):
                record(
                    number,
                    JournalBody.reply(
                        Self.entry(of, id),
                        status == .accepted ? .accepted(status: 200) : .refused(status: 200, reason: ""),
                        attempts: 1, isReported: false, at: at))
            case .parked(let number, let of):
                record(number, JournalBody.attempt(of: of, 1, at: at, next: at, isParked: true))
            case .finished(let number, let of, let isDead):
                record(
                    number,
                    JournalBody.finished(
                        of: of, kind: .text, isDead ? .failed(reason: "no") : .handled, at: at))
            case .other(let number): record(number, JournalBody.unsynced(at: at))
            case .line(let of, let id, let sequence):
                .line(
                    LineIdentity(record: of, reply: id.map { MessageID($0) }),
                    sequence.map {
                        FoundLine(
                            sequence: $0, at: at, id: MessageID(id ?? "m\(of)"), kind: .text,
                            text: Array("{\"seq\":\($0)}".utf8)[...])
                    }, in: key)
            }
        }

        private func record(_ number: UInt64, _ record: AppendedRecord) -> DurableChange {
            .record(number, record, in: key)
        }

        private static func message(
            _ number: UInt64, _ kind: Kind? = nil, replayOf original: UInt64? = nil
        ) -> AppendedRecord {
            JournalBody.message(
                ReceivedMessage(
                    business: key.business, customer: key.customer, id: MessageID("m\(number)"),
                    message: Array("{}".utf8), outboundKind: kind, receivedAt: at), replayOf: original)
        }

        private static func reply(_ id: String) -> DecidedReply {
            DecidedReply(id: MessageID(id), kind: .text, message: Array("{}".utf8))
        }

        private static func entry(_ record: UInt64, _ id: String) -> OutboxEntry {
            OutboxEntry(
                id: ReplyID(record: record, index: 0), business: key.business, customer: key.customer,
                reply: reply(id), inReplyTo: nil, decidedAt: at, attempts: 0, author: nil,
                attributes: ReceivedAttributes(), answersFailure: false, isRecovered: false)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// Each event as `key type seq @place`.
        let events: [String]
    }

    static let cases = [
        Case(
            testDescription: "a message is received when its line is written",
            steps: [.message(1), .other(2), .line(of: 1, seq: 1)], events: ["1.0 message.received 1 @2"]),
        Case(
            testDescription: "a late reference holds the place of the events behind it, and not the events",
            steps: [
                .message(1), .proactive(2), .reply(3, of: 2, "m2", .accepted), .line(of: 2, "m2", seq: 1),
                .line(of: 1, seq: 2), .other(4), .proactive(5),
            ],
            events: [
                "2.0 message.queued - @0", "3.0 message.accepted 1 @0", "1.0 message.received 2 @3",
                "5.0 message.queued - @5",
            ]),
        Case(
            testDescription: "a record with several events is passed with the last of them",
            steps: [
                .message(1), .line(of: 1, seq: 1), .outcome(2, of: 1, ["a", "b"]), .finished(3, of: 1),
                .reply(4, of: 1, "a", .refused), .reply(5, of: 1, "b", .accepted), .line(of: 1, "b", seq: 2),
                .line(of: 1, "a", seq: 3),
            ],
            events: [
                "1.0 message.received 1 @1", "2.0 message.queued - @1", "2.1 message.queued - @2",
                "5.0 message.accepted 2 @3", "4.0 message.failed 3 @3", "4.1 reply.deadLetter 3 @5",
            ]),
        Case(
            testDescription: "a parked delivery and a dead letter are told once their records are durable",
            steps: [
                .message(1), .line(of: 1, seq: 1), .parked(2, of: 1), .finished(3, of: 1, isDead: true),
            ],
            events: [
                "1.0 message.received 1 @1", "2.0 delivery.parked - @2", "3.0 delivery.deadLetter - @3",
            ]),
        Case(
            testDescription: "a message that ends without a line is received before its dead letter",
            steps: [.message(1), .finished(2, of: 1, isDead: true)],
            events: ["1.0 message.received ? @1", "2.0 delivery.deadLetter - @2"]),
        Case(
            testDescription: "a replay has no line of its own, and its dead letter is an event",
            steps: [.replay(1), .finished(2, of: 1, isDead: true)],
            events: ["2.0 delivery.deadLetter - @2"]),
        Case(
            testDescription: "a line that was written before is looked up",
            steps: [.message(1), .line(of: 1, seq: nil)], events: ["1.0 message.received ? @1"]),
        Case(
            testDescription: "a line of an unknown record is no event",
            steps: [.line(of: 7, seq: 4), .other(8), .proactive(9)], events: ["9.0 message.queued - @9"]),
        Case(
            testDescription: "a record that was applied is ignored the second time",
            steps: [.proactive(1), .proactive(1)], events: ["1.0 message.queued - @1"]),
    ]

    @Test(arguments: cases) func `changes become events with keys, lines and places`(_ test: Case) {
        var fold = EventFold(after: 0)
        #expect(test.steps.flatMap { fold.apply($0.change) }.map(text) == test.events)
    }

    private func text(_ due: PlacedEvent) -> String {
        let event = due.event
        let sequence = event.sequence.map { "\($0)" } ?? (event.missingLine == nil ? "-" : "?")
        return "\(event.key) \(event.name.rawValue) \(sequence) @\(due.through)"
    }

    @Test func `a line of more than 32 KiB is omitted, and its event is marked as truncated`() throws {
        for (count, isTruncated) in [(32 << 10, false), (32 << 10 + 1, true)] {
            var fold = EventFold(after: 0)
            _ = fold.apply(Step.message(1).change)
            let line = FoundLine(
                sequence: 1, at: Self.at, id: MessageID("m"), kind: .text,
                text: [UInt8](repeating: 0x78, count: count)[...])
            let change = DurableChange.line(LineIdentity(record: 1, reply: nil), line, in: Self.key)
            let event = try #require(fold.apply(change).first).event
            #expect(event.isTruncated == isTruncated && event.line?.count == (isTruncated ? nil : count))
        }
    }

    @Test func `the place stays before a message whose line was not written when the fold began`() {
        var fold = EventFold(after: 9, unwritten: [.received(3, in: Self.key)])
        #expect(fold.through == 2 && fold.unsent == [3])
        #expect(fold.apply(Step.line(of: 3, seq: 5).change).map(text) == ["3.0 message.received 5 @9"])
        #expect(fold.unsent.isEmpty)
    }

    /// Simulates a store: messages whose references resolve late, replies and lines, in a random order that a store can
    /// have.
    @Test(arguments: 0..<300) func `a follower that resumes at any place misses nothing`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var model = EventModel()
        var fold = EventFold(after: 0)
        var sent: [(key: StoreEvent.Key, through: UInt64)] = []
        for _ in 0..<200 {
            for change in model.step(&random) {
                sent += fold.apply(change).map { ($0.event.key, $0.through) }
            }
        }
        for change in model.finish() { sent += fold.apply(change).map { ($0.event.key, $0.through) } }
        #expect(Set(sent.map(\.key)).count == sent.count, "an event was sent twice")
        #expect(Set(sent.map(\.key)) == model.keys, "an event is missing")
        // A follower may stop after any event: every event that it has not got yet has a later record than its place.
        for (index, event) in sent.enumerated() {
            #expect(sent[(index + 1)...].allSatisfy { $0.key.record > event.through })
            if index > 0 { #expect(event.through >= sent[index - 1].through) }
        }
        #expect(fold.through == fold.last)
    }
}

/// Makes the changes of a few conversations in a random order that a store can have.
struct EventModel {
    private struct Message {
        let record: UInt64
        var isRecorded = false
    }

    private struct Reply {
        let of: UInt64
        let id: String
    }

    private var record: UInt64 = 0
    private var unrecorded: [[Message]] = Array(repeating: [], count: 3)
    private var recorded: [UInt64] = []
    private var queued: [Reply] = []
    private var ended: [Reply] = []
    private var lines = 0
    /// The keys of all events so far.
    private(set) var keys: Set<StoreEvent.Key> = []

    private mutating func next(_ events: Int) -> UInt64 {
        record += 1
        for ordinal in 0..<events { keys.insert(StoreEvent.Key(record: record, ordinal: ordinal)) }
        return record
    }

    mutating func step(_ random: inout SeededGenerator) -> [DurableChange] {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            let conversation = Int.random(in: 0..<unrecorded.count, using: &random)
            let number = next(1)
            unrecorded[conversation].append(Message(record: number))
            return [EventFoldTests.Step.message(number).change]
        case 2:
            let number = next(1)
            queued.append(Reply(of: number, id: "m\(number)"))
            return [EventFoldTests.Step.proactive(number).change]
        case 3: return writeLine(Int.random(in: 0..<unrecorded.count, using: &random))
        case 4:
            guard let of = recorded.randomElement(using: &random) else { return [] }
            recorded.removeAll { $0 == of }
            let ids = (0..<Int.random(in: 0...3, using: &random)).map { "\(of)-\($0)" }
            let outcome = EventFoldTests.Step.outcome(next(ids.count), of: of, ids)
            queued += ids.map { Reply(of: of, id: $0) }
            let isDead = Bool.random(using: &random)
            let finished = EventFoldTests.Step.finished(next(isDead ? 1 : 0), of: of, isDead: isDead)
            return [outcome.change, finished.change]
        case 5: return endReply(Bool.random(using: &random))
        case 6: return writeReply()
        default: return [EventFoldTests.Step.other(next(0)).change]
        }
    }

    /// Writes every missing line, and ends every message.
    mutating func finish() -> [DurableChange] {
        var changes: [DurableChange] = []
        for conversation in unrecorded.indices {
            while !unrecorded[conversation].isEmpty { changes += writeLine(conversation) }
        }
        while !queued.isEmpty { changes += endReply(true) }
        while !ended.isEmpty { changes += writeReply() }
        for of in recorded { changes.append(EventFoldTests.Step.finished(next(0), of: of).change) }
        return changes
    }

    private mutating func writeLine(_ conversation: Int) -> [DurableChange] {
        guard !unrecorded[conversation].isEmpty else { return [] }
        let message = unrecorded[conversation].removeFirst()
        recorded.append(message.record)
        lines += 1
        return [EventFoldTests.Step.line(of: message.record, seq: lines).change]
    }

    private mutating func endReply(_ isAccepted: Bool) -> [DurableChange] {
        guard !queued.isEmpty else { return [] }
        let reply = queued.removeFirst()
        ended.append(reply)
        let number = next(isAccepted ? 1 : 2)
        return [
            EventFoldTests.Step.reply(number, of: reply.of, reply.id, isAccepted ? .accepted : .refused)
                .change
        ]
    }

    private mutating func writeReply() -> [DurableChange] {
        guard !ended.isEmpty else { return [] }
        let reply = ended.removeFirst()
        lines += 1
        return [EventFoldTests.Step.line(of: reply.of, reply.id, seq: lines).change]
    }
}
