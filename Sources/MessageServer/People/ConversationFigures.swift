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
/// `at` is the time of the last line, or of the hand-off.
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
    /// Whether the customer's last message has no answer.
    var isUnanswered = false
    /// The customer's last answer about notices: `given` or `withdrawn`.
    var consent: String?

    /// The maximum number of later answers in a line.
    private static let maximumAnswers = 200

    /// Computes the figures of the conversations in consecutive lines: one ends with the customer's close.
    static func all(_ lines: [ConversationLine], queue: String?) -> [ConversationFigures] {
        var conversations: [ConversationFigures] = []
        var begin = lines.startIndex
        for (index, line) in lines.enumerated()
        where index == lines.count - 1 || (line.direction == .inbound && line.kind == .close) {
            if var one = ConversationFigures(lines[begin...index]) {
                one.queue = one.persons.isEmpty ? nil : queue
                conversations.append(one)
            }
            begin = index + 1
        }
        return conversations
    }

    /// Computes the figures of a conversation; nil when the customer wrote nothing.
    private init?(_ lines: ArraySlice<ConversationLine>) {
        func isMessage(_ line: ConversationLine) -> Bool {
            line.direction == .inbound && !line.isFilesOnly && !line.kind.isTyping && line.kind != .close
        }
        guard let start = lines.first(where: isMessage), let last = lines.last else { return nil }
        (at, began) = (last.at, start.at)
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
                answer(line, since: waitsSince)
                waitsSince = nil
            }
        }
        isUnanswered = waitsSince != nil
    }

    private mutating func answer(_ line: ConversationLine, since: Timestamp?) {
        guard line.author?.isPerson ?? false else {
            if by == "none" { by = "bot" }
            return
        }
        by = "person"
        if let person = line.author?.person?.id, !persons.contains(person) { persons.append(person) }
        guard let since else { return }
        let time = max(0, line.at.milliseconds - since.milliseconds)
        if first == nil { first = time } else if later.count < Self.maximumAnswers { later.append(time) }
    }

    /// The line of the file.
    var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 200) { writer in
            writer.field("at", at.rfc3339)
            writer.field("type", "conversation")
            writer.field("began", began.rfc3339)
            writer.field("by", by)
            writer.field("messages", messages)
            writer.field("queue", queue)
            if !persons.isEmpty { writer.list("persons", persons) }
            writer.field("first", first.map { Int($0) })
            if !later.isEmpty { writer.list("later", later) { $1.int(Int($0)) } }
            if isUnanswered { writer.field("unanswered", true) }
            writer.field("consent", consent)
        }
    }

    /// The line of a hand-off, which began with the record.
    static func handOff(_ assignment: Assignment, began: UInt64) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("at", (assignment.since ?? .now()).rfc3339)
            writer.field("type", "handOff")
            writer.field("key", Int(clamping: began))
            // The handler's reason may quote the customer, so it is not kept.
            writer.field("why", assignment.reason == HandOffs.askedFor ? "customer" : "handler")
            writer.field("queue", assignment.placement?.queue)
        }
    }
}
