import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// The parts of a journal record that events are made from.
enum EventRecord: Sendable {
    /// A message; `isReplay` is true for a replay, whose line was written for the original message's record.
    ///
    /// `claimedBy` is the person whose message also claims the conversation.
    case message(
        ConversationKey, MessageID, outboundKind: Kind?, isReplay: Bool, at: Timestamp,
        claimedBy: Person? = nil)
    /// The decision of a handler, with its replies.
    case outcome(of: UInt64, at: Timestamp, replies: [Reply], handOff: AssignedChange? = nil)
    /// The end of a reply; `reportedIn` is its conversation when the handler gets the failure as an event.
    case reply(of: UInt64, EndedReply, reportedIn: ConversationKey?)
    /// A failed attempt to deliver a message, after which the message is parked.
    case parked(of: UInt64, at: Timestamp)
    /// The end of a delivery.
    case finished(of: UInt64, kind: Kind?, at: Timestamp, deadLetter: String?, isDeadLetter: Bool)

    /// The assignment of a conversation changed.
    case assignment(ConversationKey, AssignedChange, at: Timestamp)

    /// A change of a conversation's assignment.
    struct AssignedChange: Sendable {
        let name: StoreEvent.Name
        let state: Assignment.State
        let person: Person?
        let reason: String?
        var note: String?
    }

    /// A decided reply.
    struct Reply: Sendable {
        let id: MessageID
        let kind: Kind
    }

    /// A reply with its end.
    struct EndedReply: Sendable {
        let id: MessageID
        let status: ReplyState.Status
        let httpStatus: Int?
        let reason: String?
        let at: Timestamp
    }

    /// The conversation of the message or reply failure that begins with this record; nil for other records.
    var begins: ConversationKey? {
        switch self {
        case .message(let key, _, _, _, _, _): key
        case .reply(_, _, let key): key
        case .outcome, .parked, .finished, .assignment: nil
        }
    }

    /// The conversation that the record itself names; nil when the record only refers to a message's record.
    var conversation: ConversationKey? {
        if case .assignment(let key, _, _) = self { key } else { begins }
    }

    /// The record of the message to which this record refers; nil for a message and for an assignment.
    var subject: UInt64? {
        switch self {
        case .message, .assignment: nil
        case .outcome(let of, _, _, _), .reply(let of, _, _), .parked(let of, _),
            .finished(let of, _, _, _, _):
            of
        }
    }

    /// Takes the parts from a message that is being appended to the journal.
    init(_ message: ReceivedMessage, claimedBy claimant: Person? = nil) {
        self = .message(
            ConversationKey(business: message.business, customer: message.customer), message.id,
            outboundKind: message.outboundKind, isReplay: false, at: message.receivedAt, claimedBy: claimant)
    }

    /// Creates the record of a reply's end.
    init(_ entry: OutboxEntry, _ result: ReplyResult, isReported: Bool, at: Timestamp) {
        let end = EndedReply(
            id: entry.reply.id, status: result.status, httpStatus: result.httpStatus, reason: result.reason,
            at: at)
        self = .reply(of: entry.id.record, end, reportedIn: isReported ? entry.conversation : nil)
    }

    /// Parses a record's body; nil for a record without events.
    init?(body: [UInt8]) {
        // The store wrote the body as JSON. If it cannot be parsed nevertheless, it is treated as one without
        // events.
        guard let root = (try? JSONDocument(body, limits: .journal))?.root else { return nil }
        self.init(root)
    }

    /// Parses an intact line of the journal; nil for a record without events.
    init?(_ line: ArraySlice<UInt8>, _ header: JournalLine.Header) {
        let type = line[header.type]
        guard Self.types.contains(where: { type.elementsEqual($0) }) else { return nil }
        // Parse only an outcome with its messages: they have the ids and kinds of the replies.
        let isOutcome = type.elementsEqual("outcome".utf8)
        self.init(body: isOutcome ? Array(line) : JournalLine.withoutMessages(line, header))
    }

    private static let types = ["message", "outcome", "reply", "attempt", "finished", "assignment"].map {
        Array($0.utf8)
    }

    private init?(_ root: JSONValue) {
        guard let type = root["type"], let record = JournalRecord.read(root) else { return nil }
        let at = root.timestamp("at") ?? Timestamp(milliseconds: 0)
        switch record {
        case .message(let message):
            self = .message(
                message.conversation, MessageID(root["id"]?.string ?? ""), outboundKind: message.outboundKind,
                isReplay: message.replayOf != nil, at: at,
                claimedBy: message.claimedAt == nil ? nil : message.author?.person)
        case .outcome(let outcome):
            let replies = root["replies"]?.elements.map {
                Reply(
                    id: MessageID($0["id"]?.string ?? ""),
                    kind: $0["kind"]?.string.flatMap(Kind.init) ?? .unrecognized)
            }
            let handOff = outcome.handOff.map {
                AssignedChange(
                    name: .conversationHandedOff, state: .waiting, person: nil,
                    reason: $0.assignment.reason)
            }
            self = .outcome(of: outcome.of, at: at, replies: replies ?? [], handOff: handOff)
        case .assignment(let assigned):
            guard let name = StoreEvent.Name(change: root["by"]?.string ?? "") else { return nil }
            let change = AssignedChange(
                name: name, state: assigned.assignment.state, person: assigned.assignment.person,
                reason: assigned.assignment.reason, note: assigned.assignment.note)
            self = .assignment(assigned.conversation, change, at: at)
        case .reply(let reply):
            guard type.equals("reply") else { return nil }
            self = .reply(
                of: reply.of,
                EndedReply(
                    id: MessageID(root["id"]?.string ?? ""), status: reply.result.status,
                    httpStatus: reply.result.httpStatus, reason: reply.result.reason, at: at),
                reportedIn: reply.reportedIn)
        case .attempt(let attempt):
            guard attempt.isParked else { return nil }
            self = .parked(of: attempt.of, at: at)
        case .finished(let finished):
            self = .finished(
                of: finished.of, kind: finished.kind, at: at, deadLetter: finished.reason,
                isDeadLetter: finished.result.isDeadLetter)
        case .resolved, .replyAttempt, .files, .dropped, .carried, .checkpoint, .unsynced, .segment,
            .erased, .other:
            return nil
        }
    }
}

extension StoreEvent.Name {
    /// Returns the event for a change of an assignment, by the change's name in the journal; nil without one.
    init?(change: String) {
        switch change {
        case "handOff": self = .conversationHandedOff
        case "claim", "take": self = .conversationClaimed
        case "release", "silence", "unclaimed": self = .conversationReleased
        case "close", "customerClose": self = .conversationClosed
        // The event of `customerMessage` is `message.received`; a copy repeats an earlier record.
        default: return nil
        }
    }
}
