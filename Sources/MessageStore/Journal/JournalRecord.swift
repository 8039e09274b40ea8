import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// What a record of the journal says, without the messages in it.
enum JournalRecord: Sendable {
    /// A message came in, or is handed over again.
    case message(Message)
    /// A payload reference came to an end.
    case resolved(of: UInt64)
    /// A handler decided.
    case outcome(Outcome)
    /// An attempt to send a reply failed, and another one is due.
    case replyAttempt(ReplyAttempt)
    /// A reply came to an end.
    case reply(Reply)
    /// What became of a message's attachments.
    case files(of: UInt64)
    /// An attempt ended without an outcome.
    case attempt(Attempt)
    /// A delivery ended.
    case finished(Finished)
    /// A dead letter was dropped: the event, or one of its replies.
    case dropped(of: UInt64, reply: Int?)
    /// A dead letter whose own segment may go: the event, or one of its replies.
    case carried(of: UInt64, reply: Int?)
    /// How far conversations are on disk.
    case checkpoint(through: UInt64)
    /// A sync of conversations failed.
    case unsynced
    /// A segment begins.
    case segment(at: Timestamp?)
    /// A type that this program does not know, or nothing that it must act upon.
    case other

    struct Message: Sendable {
        let conversation: ConversationKey
        let key: MessageKey
        let at: Timestamp?
        let hasReference: Bool
        let replayOf: UInt64?
        /// Which of that record's replies is sent again; nil when the event is handed over again.
        let retriedReply: Int?
        let outboundKind: Kind?
        let act: ReceivedMessage.Act
    }

    struct Outcome: Sendable {
        let of: UInt64
        let at: Timestamp?
        let kind: Kind?
        /// How many replies were decided.
        let replies: Int
    }

    struct ReplyAttempt: Sendable {
        let of: UInt64
        let index: Int
        let number: Int
        let next: Timestamp?
    }

    struct Reply: Sendable {
        let of: UInt64
        let index: Int
        let status: ReplyState.Status
        let httpStatus: Int?
        let reason: String?
        let attempts: Int
        let at: Timestamp?
        /// The conversation whose handler is told that the reply failed: then the record is also an event of its own.
        let reportedIn: ConversationKey?
    }

    struct Attempt: Sendable {
        let of: UInt64
        let number: Int
        let isCrash: Bool
        let isParked: Bool
        let next: Timestamp?
    }

    struct Finished: Sendable {
        let of: UInt64
        let kind: Kind?
        let result: JournalEvent.Status
        let reason: String?
        let original: MessageID?
    }

    /// Reads an intact line with this header; nil when it is no JSON, which the checksum says it is.
    init?(_ line: ArraySlice<UInt8>, _ header: JournalLine.Header) {
        if let record = Self.scan(line, header) {
            self = record
            return
        }
        let head = JournalLine.withoutMessages(line, header)
        let short = (try? JSONDocument(head, limits: .journal))?.root
        // The head of an outcome that an earlier version wrote does not say how many replies follow.
        let isEnough = short.map { $0["type"]?.equals("outcome") != true || $0["replyCount"] != nil } ?? false
        guard let root = isEnough ? short : (try? JSONDocument(Array(line), limits: .journal))?.root
        else { return nil }
        self = Self.read(root) ?? .other
    }

    /// The record of the message that this is about; nil for a message itself and for what is about none.
    var subject: UInt64? {
        switch self {
        case .resolved(let record), .files(let record), .dropped(let record, _), .carried(let record, _):
            record
        case .outcome(let outcome): outcome.of
        case .replyAttempt(let attempt): attempt.of
        case .reply(let reply): reply.of
        case .attempt(let attempt): attempt.of
        case .finished(let finished): finished.of
        case .message, .checkpoint, .unsynced, .segment, .other: nil
        }
    }

    /// Whether an event begins with it.
    var beginsEvent: Bool {
        switch self {
        case .message: true
        case .reply(let reply): reply.reportedIn != nil
        default: false
        }
    }

    /// Reads a record from its JSON; nil when it lacks what its type has, or this program does not know the type.
    static func read(_ root: JSONValue) -> JournalRecord? {
        guard let type = root["type"] else { return nil }
        if type.equals("message") { return Message(root).map { .message($0) } }
        if type.equals("checkpoint") { return root.record("through").map { .checkpoint(through: $0) } }
        if type.equals("unsynced") { return .unsynced }
        if type.equals("segment") { return .segment(at: root.timestamp("at")) }
        guard let of = root.record("of") else { return nil }
        if type.equals("finished") { return .finished(Finished(root, of: of)) }
        if type.equals("outcome") { return .outcome(Outcome(root, of: of)) }
        if type.equals("reply") { return Reply(root, of: of).map { .reply($0) } }
        if type.equals("replyAttempt") { return ReplyAttempt(root, of: of).map { .replyAttempt($0) } }
        if type.equals("files") { return .files(of: of) }
        if type.equals("resolved") { return .resolved(of: of) }
        if type.equals("attempt") { return Attempt(root, of: of).map { .attempt($0) } }
        if type.equals("dropped") { return .dropped(of: of, reply: root.replyIndex) }
        return type.equals("carried") ? .carried(of: of, reply: root.replyIndex) : nil
    }
}

extension JournalRecord.Message {
    fileprivate init?(_ root: JSONValue) {
        guard let business = root["business"]?.string, let customer = root["customer"]?.string,
            let id = root["id"]?.string
        else { return nil }
        let brand = BusinessID(business)
        conversation = ConversationKey(business: brand, customer: CustomerID(customer))
        key = MessageKey(business: brand, id: MessageID(id))
        at = root.timestamp("at")
        hasReference = root["reference"]?.bool ?? false
        replayOf = root.record("replayOf")
        retriedReply = root["retriedReply"]?.int.flatMap { $0 >= 0 ? $0 : nil }
        outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        act = root["act"]?.string.flatMap { ReceivedMessage.Act(rawValue: $0) } ?? .writes
    }
}

extension JournalRecord.Outcome {
    fileprivate init(_ root: JSONValue, of record: UInt64) {
        of = record
        at = root.timestamp("at")
        kind = root.messageKind
        // Earlier versions did not write the count before the replies, which the head of a line leaves out.
        replies = min(max(0, root["replyCount"]?.int ?? root["replies"]?.elements.count ?? 0), 10_000)
    }
}

extension JournalRecord.ReplyAttempt {
    fileprivate init?(_ root: JSONValue, of record: UInt64) {
        guard let index = root.replyIndex, let attempt = root["attempt"]?.int else { return nil }
        of = record
        self.index = index
        number = attempt
        next = root.timestamp("next")
    }
}

extension JournalRecord.Reply {
    fileprivate init?(_ root: JSONValue, of record: UInt64) {
        guard let index = root.replyIndex, let result = root["result"]?.string else { return nil }
        of = record
        self.index = index
        // What a newer program says counts as an end, so that nothing is sent twice.
        status = ReplyState.Status(rawValue: result) ?? .dropped
        httpStatus = root["status"]?.int
        reason = root["reason"]?.string
        attempts = root["attempts"]?.int ?? 1
        at = root.timestamp("at")
        reportedIn =
            if let business = root["business"]?.string, let customer = root["customer"]?.string {
                ConversationKey(business: BusinessID(business), customer: CustomerID(customer))
            } else { nil }
    }
}

extension JournalRecord.Attempt {
    fileprivate init?(_ root: JSONValue, of record: UInt64) {
        guard let attempt = root["attempt"]?.int else { return nil }
        of = record
        number = attempt
        isCrash = root["crashed"]?.bool ?? false
        isParked = root["parked"]?.bool ?? false
        next = root.timestamp("next")
    }
}

extension JournalRecord.Finished {
    fileprivate init(_ root: JSONValue, of record: UInt64) {
        of = record
        kind = root.messageKind
        result = root["result"]?.string.flatMap(JournalEvent.Status.init) ?? .handled
        reason = root["reason"]?.string
        original = root["original"]?.string.map { MessageID($0) }
    }
}

extension JSONValue {
    /// The number of a record.
    func record(_ name: String) -> UInt64? { self[name]?.int.flatMap { $0 > 0 ? UInt64($0) : nil } }

    func timestamp(_ name: String) -> Timestamp? {
        self[name]?.string.flatMap { Timestamp(rfc3339: $0) }
    }

    /// The index of a reply among those of its outcome.
    fileprivate var replyIndex: Int? { self["index"]?.int.flatMap { $0 >= 0 ? $0 : nil } }

    fileprivate var messageKind: BusinessMessages.Kind? {
        self["kind"]?.string.flatMap(BusinessMessages.Kind.init(rawValue:))
    }
}
