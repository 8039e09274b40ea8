import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import Synchronization

/// Recognizes an answer that a customer gives twice within ten seconds, under two message ids, by fingerprints in memory.
///
/// A fingerprint is an HMAC under a key of this process, because the content of some answers is not stored. Answers, and the
/// times at which the business asked, are kept for 10 to 20 s of arrivals. Only an answer that may repeat one of an earlier
/// process, or one that was dropped above the maximum count, is compared with the last lines of its conversation.
final class RecentAnswers: Sendable {
    /// The maximum time between an answer and its repetition.
    static let windowMilliseconds: Int64 = 10_000
    /// The number of lines at the end of the conversation that are compared.
    static let maximumLines = 20
    /// How often one question counts as asked in a generation; later ones replace the latest.
    private static let maximumQuestions = 8

    /// An answer to a question.
    struct Answer: Equatable {
        let id: MessageID
        let record: UInt64
        let receivedAt: Timestamp
    }

    /// A time at which the business asked a question: in the answer to the message with this record.
    private struct Question {
        let record: UInt64
        let decidedAt: Timestamp
    }

    /// The times at which a question was asked; nearly every question is asked once, which needs no array.
    private struct Questions {
        let first: Question
        var later: [Question] = []
        var all: [Question] { [first] + later }

        mutating func add(_ question: Question) {
            if later.count >= RecentAnswers.maximumQuestions - 1 { later.removeLast() }
            later.append(question)
        }
    }

    private struct Generation {
        var answers: [Fingerprint: Answer] = [:]
        var questions: [Fingerprint: Questions] = [:]
        /// The arrival time of the latest answer.
        var latest: Int64
    }

    private struct State {
        var young: Generation
        var old: Generation
        /// Every answer that was recorded after this time is in one of the two generations.
        var completeAfter: Int64
    }

    /// The result of a search for an equal answer.
    enum Finding: Equatable {
        /// No equal answer arrived within the window.
        case first
        /// This equal answer did.
        case equal(Answer)
        /// The lines of the conversation may have an equal answer.
        case unknown
    }

    private let maximumCount: Int
    private let hmac = HMACSHA256(key: .random(byteCount: 32))
    private let state: Mutex<State>

    /// Starts without answers; each of the two generations keeps at most `maximumCount`.
    ///
    /// Answers until `begin`, the time of the latest message that an earlier process recorded, are unknown.
    init(after begin: Timestamp?, maximumCount: Int = 1 << 17) {
        self.maximumCount = maximumCount
        let none = Generation(latest: begin?.milliseconds ?? 0)
        state = Mutex(State(young: none, old: none, completeAfter: none.latest))
    }

    /// Returns the message that the event repeats; nil when it repeats none, and the event is then remembered.
    ///
    /// An answer is no repetition when the business asked the same question again after the earlier answer and before
    /// this one arrived: reusable content has the same `requestIdentifier` each time. A repetition is not remembered,
    /// so that a customer who makes the same choice every few seconds still gets answers. `lines` returns the last lines of the
    /// conversation, and `queued` its unsent replies.
    func original(
        of event: InboundEvent, _ message: UnrecordedMessage, lines: () throws -> [ConversationLine],
        queued: () -> [OutboxEntry]
    ) throws -> MessageID? {
        guard let content = AnswerContent(event) else { return nil }
        let conversation = ConversationID(business: message.business, customer: message.customer)
        let fingerprint = fingerprint(of: content, in: conversation)
        let answer = Answer(id: message.id, record: message.record, receivedAt: message.receivedAt)
        var asked: [Question] = []
        var earlier: Answer?
        switch find(fingerprint, before: answer) {
        case .first: break
        case .equal(let known):
            earlier = known
            asked = questions(content, in: conversation)
        case .unknown where content.isStored:
            let lines = try lines()
            earlier = lines.first { line in
                line.direction == .inbound && line.repeats == nil && line.kind == event.kind
                    && Answer(line).isBefore(answer)
                    // The line's message was validated before it was written, so that parsing succeeds.
                    && (try? JSONDocument(Array(line.message.text), limits: .stored)).flatMap {
                        AnswerContent(InboundEvent.decode(message: $0))
                    }.map { self.fingerprint(of: $0, in: conversation) == fingerprint } ?? false
            }.map(Answer.init)
            asked = lines.compactMap { line in
                line.direction == .outbound && line.outcome == "accepted"
                    && content.answers(Array(line.message.text))
                    ? Question(record: line.record, decidedAt: answer.receivedAt) : nil
            }
        case .unknown: break
        }
        if let earlier {
            // An accepted question is remembered before it leaves the queue.
            asked += queued().filter { content.answers($0.reply.message) }
                .map { Question(record: $0.id.record, decidedAt: $0.decidedAt) }
            let isAskedAgain = asked.contains { question in
                question.record >= earlier.record && question.record < answer.record
                    && question.decidedAt <= answer.receivedAt
            }
            if !isAskedAgain { return earlier.id }
        }
        remember(answer, as: fingerprint)
        return nil
    }

    /// Remembers the latest answer with this fingerprint.
    func remember(_ answer: Answer, as fingerprint: Fingerprint) {
        state.withLock { $0.young.answers[fingerprint] = answer }
    }

    /// Remembers the question in a message that the gateway accepted, if there is one; called before the message leaves the queue.
    func recordQuestion(in entry: OutboxEntry) {
        if entry.reply.kind == .text { return }
        let conversation = ConversationID(business: entry.business, customer: entry.customer)
        let (session, request) = AnswerContent.question(of: entry.reply.message)
        let question = Question(record: entry.id.record, decidedAt: entry.decidedAt)
        for name in [session.map { ($0, false) }, request.map { ($0, true) }].compactMap(\.self) {
            let fingerprint = fingerprint(ofQuestion: name.0, isRequest: name.1, in: conversation)
            state.withLock { state in
                if state.young.questions[fingerprint] == nil {
                    guard state.young.questions.count < maximumCount else { return }
                    state.young.questions[fingerprint] = Questions(first: question)
                } else {
                    state.young.questions[fingerprint]?.add(question)
                }
            }
        }
    }

    /// Returns what is known of the answers with this fingerprint before `answer`.
    func find(_ fingerprint: Fingerprint, before answer: Answer) -> Finding {
        let receivedAt = answer.receivedAt.milliseconds
        return state.withLock { state in
            if receivedAt - state.old.latest > 2 * Self.windowMilliseconds
                || state.young.answers.count >= maximumCount
            {
                state.completeAfter = max(state.completeAfter, state.old.latest)
                state.old = state.young
                state.young = Generation(latest: state.old.latest)
            }
            state.young.latest = max(state.young.latest, receivedAt)
            if let known = state.young.answers[fingerprint] ?? state.old.answers[fingerprint],
                known.isBefore(answer)
            {
                return .equal(known)
            }
            return receivedAt - Self.windowMilliseconds > state.completeAfter ? .first : .unknown
        }
    }

    private func questions(_ content: AnswerContent, in conversation: ConversationID) -> [Question] {
        guard let name = content.request ?? content.session else { return [] }
        let fingerprint = fingerprint(
            ofQuestion: name, isRequest: content.request != nil, in: conversation)
        return state.withLock { state in
            [state.old, state.young].flatMap { $0.questions[fingerprint]?.all ?? [] }
        }
    }

    /// The first 16 bytes of a keyed hash.
    struct Fingerprint: Hashable {
        let high: UInt64
        let low: UInt64
    }

    func fingerprint(of content: AnswerContent, in conversation: ConversationID) -> Fingerprint {
        fingerprint(["answer", content.kind.rawValue].map { Array($0.utf8) }, conversation, content.values)
    }

    private func fingerprint(
        ofQuestion name: [UInt8], isRequest: Bool, in conversation: ConversationID
    ) -> Fingerprint {
        fingerprint([Array((isRequest ? "request" : "session").utf8)], conversation, [name])
    }

    /// Hashes each text with its length before it, so that no two lists have the same bytes.
    private func fingerprint(
        _ start: [[UInt8]], _ conversation: ConversationID, _ values: [[UInt8]?]
    ) -> Fingerprint {
        var bytes: [UInt8] = []
        let names = [conversation.business.rawValue, conversation.customer.rawValue].map { Array($0.utf8) }
        for value in start + names + values {
            let length = UInt64(value.map { $0.count + 1 } ?? 0)
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> shift))
            }
            bytes += value ?? []
        }
        let hash = hmac.bytes(of: bytes)
        func word(_ start: Int) -> UInt64 { hash[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        return Fingerprint(high: word(0), low: word(8))
    }
}

extension RecentAnswers.Answer {
    fileprivate init(_ line: ConversationLine) {
        self.init(id: line.id, record: line.record, receivedAt: line.at)
    }

    /// Whether `other` is a later message and arrived within the window.
    ///
    /// A message that is recorded again after a disk error does not repeat itself.
    fileprivate func isBefore(_ other: RecentAnswers.Answer) -> Bool {
        let age = other.receivedAt.milliseconds - receivedAt.milliseconds
        return record < other.record && id != other.id && (0...RecentAnswers.windowMilliseconds).contains(age)
    }
}
