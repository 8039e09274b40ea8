import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The figures of one ended conversation or one hand-off, without its customer and words.
///
/// ```json
/// {"at":"2026-11-28T09:14:00.000Z","type":"conversation","began":"2026-11-28T09:09:00.000Z","by":"person","messages":4,"queue":"returns","persons":["agent-7"],"first":42000,"later":[9000]}
/// {"at":"2026-11-28T09:10:00.000Z","type":"handOff","key":57,"why":"customer","queue":"returns"}
/// ```
/// `at` is the time of the last message of either side, or of the hand-off. With hours there are `"hour":10`, the hour of
/// the day in their zone in which it began, and `firstOpen` and `laterOpen`, which count opening time only.
/// `first` and `later` are the milliseconds until a person answered the customer's first unanswered message. `by` is
/// `person`, `bot` or `none`. `key` is the record of a hand-off.
struct ConversationFigures: Hashable, Sendable {
    /// The time of the last message of either side.
    var at: Timestamp
    /// The time of the customer's first message.
    var began: Timestamp
    var by = "none"
    /// The number of the customer's messages.
    var messages = 0
    var queue: String?
    var persons: [String] = []
    var first: Int64?
    var later: [Int64] = []
    /// The same in opening time; nil without hours.
    var firstOpen: Int64?
    var laterOpen: [Int64] = []
    /// The hour of the day in which it began; nil without hours.
    var hour: Int?
    /// Whether the customer's last message has no answer.
    var isUnanswered = false
    /// The customer's last answer about notices: `given` or `withdrawn`.
    var consent: String?
    /// The customer's last answer to the survey, from 1 to 5.
    var survey: Int?

    /// The maximum number of later answers in a line.
    private static let maximumAnswers = 200

    /// The state and the queue of a conversation, as the lines of assignments show them.
    private struct Turn {
        var state = Assignment.State.handler
        var queue: String?
        var isWithPeople: Bool { state == .waiting || state == .person }

        mutating func apply(_ line: ConversationLine) {
            if line.isOf("assignment") {
                state = line.message["state"]?.string.flatMap(Assignment.State.init) ?? state
                queue = line.message["queue"]?.string
            } else if line.direction == .inbound, state == .closed {
                // The handler's turn after a close has no line.
                state = .handler
            }
        }
    }

    /// Computes the figures of the conversations in consecutive lines, which begin as ``NewConversation`` says.
    ///
    /// After the silence every line begins a part of its own, so that later lines do not change what was recorded.
    static func all(
        _ lines: [ConversationLine], of business: BusinessID, after silence: Duration,
        _ opening: (_ queue: String?) -> OpeningTime
    ) -> [ConversationFigures] {
        var conversations: [ConversationFigures] = []
        var (begin, contact, turn, first) = (0, Contact(), Turn(), Turn())
        func endConversation(before index: Int) {
            if let one = ConversationFigures(lines[begin..<index], of: business, first, opening) {
                conversations.append(one)
            }
            (begin, first) = (index, turn)
        }
        for (index, line) in lines.enumerated() {
            let isSilent = contact.at.map { $0.advanced(by: silence) <= line.at } ?? false
            let isNew =
                line.mayBegin(of: business)
                && contact.next(at: line.at, isReopened: turn.state == .closed, silence: silence) != nil
            if isSilent || isNew { endConversation(before: index) }
            contact.apply(line, of: business)
            if line.direction == .internal || line.mayBegin(of: business) { turn.apply(line) }
        }
        endConversation(before: lines.count)
        return conversations
    }

    /// Computes the figures of a conversation; nil when the customer wrote nothing.
    ///
    /// `turn` is that before the lines. An answer to the survey alone has figures too, without messages.
    private init?(
        _ lines: ArraySlice<ConversationLine>, of business: BusinessID, _ turn: Turn,
        _ opening: (_ queue: String?) -> OpeningTime
    ) {
        let scores = lines.filter { $0.isOf("survey") }
        guard let start = lines.first(where: { $0.mayBegin(of: business) }) ?? scores.first
        else { return nil }
        survey = scores.last?.message["score"]?.int
        let queues = lines.lazy.filter { $0.isOf("assignment") }.compactMap { $0.message["queue"]?.string }
        queue = Array(queues).last ?? turn.queue
        let opening = opening(queue)
        (at, began, hour) = (start.at, start.at, opening.hour(of: start.at))
        // The server answers these messages itself.
        let consents = lines.filter { $0.isOf("consent") }
        consent = consents.last?.message["state"]?.string
        let answered = Set(consents.compactMap { $0.message["at"]?.string })
        var (turn, contact) = (turn, Contact())
        var waitedForPerson = turn.state == .waiting
        var waitsSince: Timestamp?
        // The first message that the bot's last answers are about.
        var answeredByBot: Timestamp?
        for line in lines {
            contact.apply(line, of: business)
            if line.isOf("assignment") {
                turn.apply(line)
                if turn.state == .waiting {
                    waitedForPerson = true
                    // The line of the answer that hands off may come before that of the hand-off.
                    waitsSince = waitsSince ?? answeredByBot
                }
                answeredByBot = nil
            } else if line.mayBegin(of: business) {
                messages += 1
                if line.isTapback || answered.contains(line.at.rfc3339) { continue }
                waitsSince = waitsSince ?? line.at
            } else if line.isAnswer, messages > 0 {
                if line.author?.isPerson ?? false {
                    answer(line, since: waitsSince, opening)
                    (waitsSince, answeredByBot) = (nil, nil)
                } else if !turn.isWithPeople {
                    if by == "none" { by = "bot" }
                    (waitsSince, answeredByBot) = (nil, waitsSince ?? answeredByBot)
                }
            }
        }
        at = contact.at ?? start.at
        if waitedForPerson, by == "bot" { by = "none" }
        isUnanswered = waitsSince != nil
    }

    private mutating func answer(
        _ line: ConversationLine, since: Timestamp?, _ opening: OpeningTime
    ) {
        by = "person"
        if let person = line.author?.person?.id, !persons.contains(person) { persons.append(person) }
        guard let since else { return }
        let time = max(0, line.at.milliseconds - since.milliseconds)
        let open = opening.hours == nil ? nil : opening.milliseconds(from: since, to: line.at)
        if first == nil {
            (first, firstOpen) = (time, open)
        } else if later.count < Self.maximumAnswers {
            later.append(time)
            if let open { laterOpen.append(open) }
        }
    }

    /// The line of the file.
    var json: [UInt8] {
        JSONWriter.object([
            "at": at.rfc3339, "type": "conversation", "began": began.rfc3339, "by": by, "messages": messages,
            "queue": queue, "persons": persons.isEmpty ? nil : persons, "first": first.map { Int($0) },
            "later": later.isEmpty ? nil : later.map { Int($0) }, "firstOpen": firstOpen.map { Int($0) },
            "laterOpen": laterOpen.isEmpty ? nil : laterOpen.map { Int($0) }, "hour": hour,
            "unanswered": isUnanswered ? true : nil, "consent": consent, "survey": survey,
        ])
    }

    /// The line of a hand-off, which began with the record.
    static func handOff(
        _ assignment: Assignment, began: UInt64, queue: String?, _ opening: OpeningTime
    ) -> [UInt8] {
        let at = assignment.since ?? .now()
        return JSONWriter.object([
            "at": at.rfc3339, "type": "handOff", "key": Int(clamping: began),
            // The handler's reason may quote the customer, so it is not kept.
            "why": assignment.reason == HandOffs.askedFor ? "customer" : "handler",
            "queue": queue, "hour": opening.hour(of: at),
        ])
    }
}

extension ConversationLine {
    /// Whether the line is an ``InternalMessage`` of this type.
    fileprivate func isOf(_ type: String) -> Bool { direction == .internal && kindName == type }

    /// Whether the line is a message to the customer that is no automatic text of the server.
    fileprivate var isAnswer: Bool {
        direction == .outbound && author != .server && !kind.isTyping
            && outcome == ReplyState.Status.accepted.rawValue
    }
}

extension OpeningTime {
    /// The hour of the day that clocks in the zone of the hours show; nil without hours.
    fileprivate func hour(of time: Timestamp) -> Int? {
        guard let zone = hours?.zone else { return nil }
        let seconds = time.milliseconds.flooredQuotient(by: 1000)
        let hours = (seconds + zone.offset(at: seconds)).flooredQuotient(by: 3600)
        return Int(hours - hours.flooredQuotient(by: 24) * 24)
    }
}
