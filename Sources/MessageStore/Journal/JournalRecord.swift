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
    case outcome(of: UInt64, kind: Kind?)
    /// A reply came to an end.
    case reply(of: UInt64)
    /// What became of a message's attachments.
    case files(of: UInt64)
    /// An attempt ended without an outcome.
    case attempt(Attempt)
    /// A delivery ended.
    case finished(Finished)
    /// A dead letter is none any more.
    case dropped(of: UInt64)
    /// A dead letter whose own segment may go.
    case carried(of: UInt64)
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
        let outboundKind: Kind?
        let act: ReceivedMessage.Act
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

    /// Reads an intact line; nil when it is no JSON, which the checksum says it is.
    init?(_ line: ArraySlice<UInt8>) {
        guard let header = JournalLine.header(of: line) else { return nil }
        if let record = Self.scan(line, header) {
            self = record
            return
        }
        let head = JournalLine.withoutMessages(line, header)
        guard
            let root =
                ((try? JSONDocument(head, limits: .journal))
                ?? (try? JSONDocument(Array(line), limits: .journal)))?.root
        else { return nil }
        self = Self.read(root) ?? .other
    }

    /// The record of the message that this is about; nil for a message itself and for what is about none.
    var subject: UInt64? {
        switch self {
        case .resolved(let record), .reply(let record), .dropped(let record), .carried(let record),
            .files(let record):
            record
        case .outcome(let record, _): record
        case .attempt(let attempt): attempt.of
        case .finished(let finished): finished.of
        case .message, .checkpoint, .unsynced, .segment, .other: nil
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
        if type.equals("outcome") { return .outcome(of: of, kind: root.messageKind) }
        if type.equals("reply") { return .reply(of: of) }
        if type.equals("files") { return .files(of: of) }
        if type.equals("resolved") { return .resolved(of: of) }
        if type.equals("attempt") { return Attempt(root, of: of).map { .attempt($0) } }
        if type.equals("dropped") { return .dropped(of: of) }
        return type.equals("carried") ? .carried(of: of) : nil
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
        outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        act = root["act"]?.string.flatMap { ReceivedMessage.Act(rawValue: $0) } ?? .writes
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

    fileprivate var messageKind: BusinessMessages.Kind? {
        self["kind"]?.string.flatMap(BusinessMessages.Kind.init(rawValue:))
    }
}
