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
/// `at` is the time of the last line, or of the hand-off. With hours there are `"hour":10`, the hour of the day in their zone
/// in which it began, and `firstOpen` and `laterOpen`, which count opening time only.
/// `first` and `later` are the milliseconds until a person answered the customer's first unanswered message. `by` is
/// `person`, `bot` or `none`. `key` is the record of a hand-off, of which a restart may write a second line.
struct ConversationFigures: Hashable, Sendable {
    /// The time of the last line.
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

    /// Computes the figures of the conversations in consecutive lines: one ends with the customer's close.
    static func all(
        _ lines: [ConversationLine], of business: BusinessID, queue: String?, _ opening: OpeningTime
    ) -> [ConversationFigures] {
        var conversations: [ConversationFigures] = []
        var begin = lines.startIndex
        for (index, line) in lines.enumerated()
        where index == lines.count - 1 || (line.direction == .inbound && line.kind == .close) {
            if var one = ConversationFigures(lines[begin...index], of: business, opening) {
                one.queue = one.persons.isEmpty ? nil : queue
                conversations.append(one)
            }
            begin = index + 1
        }
        return conversations
    }

    /// Computes the figures of a conversation; nil when the customer wrote nothing.
    ///
    /// An answer to the survey alone has figures too, without messages.
    private init?(
        _ lines: ArraySlice<ConversationLine>, of business: BusinessID, _ opening: OpeningTime
    ) {
        func isMessage(_ line: ConversationLine) -> Bool {
            line.direction == .inbound && !line.isFilesOnly && !line.kind.isTyping && line.kind != .close
                && !line.answersServer(of: business)
        }
        let scores = lines.filter { $0.direction == .internal && $0.kindName == "survey" }
        guard let start = lines.first(where: isMessage) ?? scores.first, let last = lines.last
        else { return nil }
        survey = scores.last?.message["score"]?.int
        (at, began, hour) = (last.at, start.at, opening.hour(of: start.at))
        var waitsSince: Timestamp?
        for line in lines where line.at >= start.at {
            if isMessage(line) {
                messages += 1
                waitsSince = waitsSince ?? line.at
            } else if line.direction == .internal, line.kindName == "consent" {
                consent = line.message["state"]?.string
                // The server answers such a message.
                waitsSince = nil
            } else if line.direction == .outbound, line.author != .server, !line.kind.isTyping,
                line.outcome == ReplyState.Status.accepted.rawValue
            {
                answer(line, since: waitsSince, opening)
                waitsSince = nil
            }
        }
        isUnanswered = waitsSince != nil
    }

    private mutating func answer(
        _ line: ConversationLine, since: Timestamp?, _ opening: OpeningTime
    ) {
        guard line.author?.isPerson ?? false else {
            if by == "none" { by = "bot" }
            return
        }
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
    static func handOff(_ assignment: Assignment, began: UInt64, _ opening: OpeningTime) -> [UInt8] {
        let at = assignment.since ?? .now()
        return JSONWriter.object([
            "at": at.rfc3339, "type": "handOff", "key": Int(clamping: began),
            // The handler's reason may quote the customer, so it is not kept.
            "why": assignment.reason == HandOffs.askedFor ? "customer" : "handler",
            "queue": assignment.placement?.queue, "hour": opening.hour(of: at),
        ])
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
