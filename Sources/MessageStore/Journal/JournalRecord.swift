package import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// A parsed journal record, without the texts of its messages.
enum JournalRecord: Hashable, Sendable {
    /// A received, replayed or proactive message.
    case message(Message)
    /// A change of the message with this record.
    case change(of: UInt64, Change)
    /// The assignment of a conversation after a change.
    case assignment(AssignmentRecord)
    /// The conversation lines of records up to this one are on disk.
    case checkpoint(through: UInt64)
    /// A sync of conversations failed.
    case unsynced
    /// A record whose content was erased, together with all data of its customer.
    case erased(Erased)
    /// The start of a segment.
    case segment(at: Timestamp?)
    /// An unknown type, with the conversation that it names, or a record without relevant content.
    case other(in: ConversationKey?)

    /// A change of a message, of its delivery or of one of its replies.
    enum Change: Hashable, Sendable {
        /// The payload of the message's reference was downloaded, or the download failed.
        ///
        /// Only then is it known whether the message answers a ``ServerQuestion``.
        case resolved(act: ReceivedMessage.Act = .writes)
        /// The customer's message is the first of a new conversation.
        case began(NewConversation)
        /// A handler's decision.
        case outcome(Outcome)
        /// A failed attempt to send a reply, with the time of the next attempt.
        case replyAttempt(ReplyAttempt)
        /// The end of a reply.
        case reply(Reply)
        /// The results of the message's attachments, sign-in or payment.
        case files
        /// An attempt of the delivery that ended without an outcome.
        case attempt(Attempt)
        /// The end of the delivery.
        case finished(Finished)
        /// A dead letter was dropped: the event, or one of its replies.
        case dropped(reply: Int?)
        /// A copy of a dead letter whose original segment may be deleted: the event, or one of its replies.
        ///
        /// The time is that of the event's arrival, or of the reply's decision.
        case carried(reply: Int?, in: ConversationKey, at: Timestamp?)
    }

    struct Message: Hashable, Sendable {
        let conversation: ConversationKey
        let id: MessageID
        let key: MessageKey
        let at: Timestamp?
        let hasReference: Bool
        let replayOf: UInt64?
        /// The index of the reply of `replayOf` that is sent again; nil when the event itself is replayed.
        let retriedReply: Int?
        let outboundKind: Kind?
        let act: ReceivedMessage.Act
        /// The author of a proactive message, if known.
        var author: MessageAuthor?
        /// The number of the conversation's next line, when that person claims the conversation with the message.
        var claimedAt: Int?
        /// The record of the change of an assignment whose line this is; nil for another message.
        var change: UInt64?
    }

    struct Outcome: Hashable, Sendable {
        let at: Timestamp?
        let kind: Kind?
        /// The number of decided replies.
        let replies: Int
        /// The new assignment, when the conversation waits for a person from then on; otherwise nil.
        var handOff: AssignmentRecord?
    }

    struct ReplyAttempt: Hashable, Sendable {
        let index: Int
        let number: Int
        let next: Timestamp?
    }

    struct Reply: Hashable, Sendable {
        let index: Int
        let id: MessageID
        let result: ReplyResult
        let attempts: Int
        let at: Timestamp?
        /// The conversation whose handler gets an event for the failed reply; nil when no handler gets one.
        let reportedIn: ConversationKey?
    }

    struct Attempt: Hashable, Sendable {
        let number: Int
        let isCrash: Bool
        let isParked: Bool
        let next: Timestamp?
    }

    struct Finished: Hashable, Sendable {
        let kind: Kind?
        let result: JournalEvent.Status
        let reason: String?
        let original: MessageID?
        /// Whether the handler's answer broke a rule and was refused; replies of the configured fallback, if
        /// any, are sent.
        let isRefusal: Bool
        /// The number of handler calls; 0 when the end came without one, and in records of earlier versions.
        let attempts: Int
    }

    /// Parses an intact line with this header; nil when the line is not JSON, although its checksum is
    /// correct.
    init?(_ line: ArraySlice<UInt8>, _ header: JournalLine.Header) {
        if let record = Self.scan(line, header) {
            self = record
            return
        }
        let head = JournalLine.withoutMessages(line, header)
        let short = (try? JSONDocument(head, limits: .journal))?.root
        // Earlier versions wrote no `replyCount`, so the replies of such an outcome are counted in the whole
        // line.
        let isEnough = short.map { $0["type"]?.equals("outcome") != true || $0["replyCount"] != nil } ?? false
        guard let root = isEnough ? short : (try? JSONDocument(Array(line), limits: .journal))?.root
        else { return nil }
        if let record = Self.read(root) {
            self = record
        } else {
            // A newer version may name the conversation in a later part of the line.
            self = .other(
                in: (try? JSONDocument(Array(line), limits: .journal)).flatMap { ConversationKey($0.root) })
        }
    }

    /// The record of the message that this record is about.
    ///
    /// Nil for the record of a message itself, and for a record that is about no message.
    var subject: UInt64? { if case .change(let record, _) = self { record } else { nil } }

    /// The conversation that the record itself names; nil for a record that only refers to a message's record.
    var conversation: ConversationKey? {
        switch self {
        case .message(let message): message.conversation
        case .change(_, .reply(let reply)): reply.reportedIn
        case .assignment(let record): record.conversation
        case .change(_, .carried(_, let conversation, _)): conversation
        case .other(let conversation): conversation
        case .change(_, .outcome(let outcome)): outcome.handOff?.conversation
        case .change, .checkpoint, .unsynced, .segment, .erased: nil
        }
    }

    /// The message that the record stores; nil for any other record.
    var message: Message? { if case .message(let message) = self { message } else { nil } }
    /// The last record whose lines are on disk, if the record is a checkpoint; nil for any other record.
    var checkpoint: UInt64? { if case .checkpoint(let through) = self { through } else { nil } }
    /// The message whose delivery the record ends; nil for any other record.
    var finishes: UInt64? { if case .change(let record, .finished) = self { record } else { nil } }
    /// The assignment that the record stores; nil for any other record.
    var assignment: AssignmentRecord? { if case .assignment(let record) = self { record } else { nil } }

    /// The identity of a message that the record stores or erased, by which copies are detected; nil for a replay.
    var identity: (key: MessageKey, at: Timestamp?)? {
        switch self {
        case .message(let message) where message.replayOf == nil: (message.key, message.at)
        case .erased(let erased): erased.key.map { ($0, erased.at) }
        default: nil
        }
    }

    /// The effect of a customer's message, if the record is one, on the conversation; nil when it has none.
    var customerAct: ReceivedMessage.Act? {
        guard let message, message.outboundKind == nil, message.replayOf == nil else { return nil }
        return message.act.opensOrCloses ? message.act : nil
    }

    /// The conversation whose assignment the record sets, whatever the assignment was before; nil for any other record.
    var assignedConversation: ConversationKey? { assignment?.conversation ?? assigns }

    /// The message whose state the record changes: ``subject``, or the message that this one replays.
    var changes: UInt64? { subject ?? message?.replayOf }

    /// Whether the record's line may have a text, an identifier or a free reason of its conversation.
    var hasText: Bool {
        switch self {
        case .message, .assignment, .other: true
        case .change(_, .finished(let finished)):
            finished.reason != nil || finished.original != nil || finished.isRefusal
        case .change(_, .began), .change(_, .replyAttempt), .change(_, .attempt), .change(_, .dropped): false
        case .change: true
        case .checkpoint, .unsynced, .segment, .erased: false
        }
    }

    /// The conversation that the record gives to a person or to those who wait for one; nil for any other
    /// record.
    var assigns: ConversationKey? {
        switch self {
        case .assignment(let record): record.assignment.isAssigned ? record.conversation : nil
        case .change(_, .outcome(let outcome)): outcome.handOff?.conversation
        case .message(let message): message.claimedAt == nil ? nil : message.conversation
        default: nil
        }
    }

    /// Whether an event begins with this record: a message, or the report of a failed reply.
    var beginsEvent: Bool {
        switch self {
        case .message: true
        case .change(_, .reply(let reply)): reply.reportedIn != nil
        default: false
        }
    }

    /// Parses a record from its JSON; nil when a required member is missing, or the type is unknown.
    static func read(_ root: JSONValue) -> JournalRecord? {
        guard let type = root["type"] else { return nil }
        if type.equals("message") { return Message(root).map { .message($0) } }
        if type.equals("assignment") { return AssignmentRecord(root).map { .assignment($0) } }
        if type.equals("checkpoint") { return root.record("through").map { .checkpoint(through: $0) } }
        if type.equals("unsynced") { return .unsynced }
        if type.equals("segment") { return .segment(at: root.timestamp("at")) }
        if type.equals("erased") { return .erased(Erased(root)) }
        return root.record("of").flatMap { of in Change.read(root, type).map { .change(of: of, $0) } }
    }
}

extension JournalRecord.Change {
    /// Parses a change from its record; nil when a required member is missing, or the type is unknown.
    fileprivate static func read(_ root: JSONValue, _ type: JSONValue) -> Self? {
        if type.equals("finished") { return .finished(.init(root)) }
        if type.equals("outcome") { return .outcome(.init(root)) }
        if type.equals("began") { return .began(NewConversation(lastContact: root.timestamp("last"))) }
        if type.equals("reply") { return JournalRecord.Reply(root).map { .reply($0) } }
        if type.equals("replyAttempt") { return JournalRecord.ReplyAttempt(root).map { .replyAttempt($0) } }
        if type.equals("files") { return .files }
        if type.equals("resolved") { return .resolved(act: ReceivedMessage.Act(record: root)) }
        if type.equals("attempt") { return JournalRecord.Attempt(root).map { .attempt($0) } }
        if type.equals("dropped") { return .dropped(reply: root.replyIndex) }
        guard type.equals("carried") else { return nil }
        return ConversationKey(root).map {
            .carried(reply: root.replyIndex, in: $0, at: root.timestamp("at"))
        }
    }
}

extension JournalRecord.Message {
    fileprivate init?(_ root: JSONValue) {
        guard let conversation = ConversationKey(root), let id = root["id"]?.string else { return nil }
        self.conversation = conversation
        self.id = MessageID(id)
        key = MessageKey(business: conversation.business, id: self.id)
        at = root.timestamp("at")
        hasReference = root["reference"]?.bool ?? false
        replayOf = root.record("replayOf")
        retriedReply = root["retriedReply"]?.int.flatMap { $0 >= 0 ? $0 : nil }
        outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        act = ReceivedMessage.Act(record: root)
        author = MessageAuthor(root)
        claimedAt = root["claims"]?.int.flatMap { $0 > 0 ? $0 : nil }
        change = root.record("change")
    }
}

extension JournalRecord.Outcome {
    fileprivate init(_ root: JSONValue) {
        at = root.timestamp("at")
        kind = root.messageKind
        // The start of a line lacks the replies, so `replyCount` precedes them. Earlier versions wrote no
        // `replyCount`.
        replies = min(max(0, root["replyCount"]?.int ?? root["replies"]?.elements.count ?? 0), 10_000)
        handOff = AssignmentRecord(handOff: root, isAnnounced: replies > 0)
    }
}

extension JournalRecord.ReplyAttempt {
    fileprivate init?(_ root: JSONValue) {
        guard let index = root.replyIndex, let attempt = root["attempt"]?.int else { return nil }
        self.index = index
        number = attempt
        next = root.timestamp("next")
    }
}

extension JournalRecord.Reply {
    fileprivate init?(_ root: JSONValue) {
        guard let index = root.replyIndex, let result = root["result"]?.string else { return nil }
        self.index = index
        id = MessageID(root["id"]?.string ?? "")
        // An unknown result of a newer version counts as an end, so that no reply is sent twice.
        let reason = root["reason"]?.string
        self.result =
            ReplyResult(name: result, httpStatus: root["status"]?.int, reason: reason)
            ?? .dropped(reason: reason ?? "")
        attempts = root["attempts"]?.int ?? 1
        at = root.timestamp("at")
        reportedIn = ConversationKey(root)
    }
}

extension JournalRecord.Attempt {
    fileprivate init?(_ root: JSONValue) {
        guard let attempt = root["attempt"]?.int else { return nil }
        number = attempt
        isCrash = root["crashed"]?.bool ?? false
        isParked = root["parked"]?.bool ?? false
        next = root.timestamp("next")
    }
}

extension JournalRecord.Finished {
    fileprivate init(_ root: JSONValue) {
        kind = root.messageKind
        result = root["result"]?.string.flatMap(JournalEvent.Status.init) ?? .handled
        reason = root["reason"]?.string
        original = root["original"]?.string.map { MessageID($0) }
        isRefusal = root["problems"] != nil
        attempts = root["attempts"]?.int ?? 0
    }
}

extension AssignmentRecord {
    /// Parses a record of type assignment.
    fileprivate init?(_ root: JSONValue) {
        guard let conversation = ConversationKey(root), let assignment = Assignment(root) else { return nil }
        self.conversation = conversation
        self.assignment = assignment
        endedIn = root["ended"]?.int.flatMap { $0 >= 0 ? UInt64($0) : nil }
        reopenedIn = root.record("reopened") ?? 0
    }

    /// Parses the hand-off in an outcome; nil when it has none.
    fileprivate init?(handOff root: JSONValue, isAnnounced: Bool) {
        guard let waiting = root["waiting"], let conversation = ConversationKey(waiting) else { return nil }
        self.conversation = conversation
        var assignment = Assignment.handler
        let change = AssignmentChange.handOff(
            reason: root["reason"]?.string, isAnnounced: isAnnounced, Placement(waiting["queue"]),
            note: waiting["note"]?.string)
        let at = root.timestamp("at") ?? Timestamp(milliseconds: 0)
        if case .to(let next) = assignment.applying(change, at: at) { assignment = next }
        assignment.began = Assignment.Beginning(waiting)
        self.assignment = assignment
        endedIn = nil
    }
}

extension Assignment {
    /// Parses the members of an assignment; nil when the state is missing or unknown.
    package init?(_ root: JSONValue) {
        guard let state = root["state"]?.string.flatMap(State.init(rawValue:)) else { return nil }
        self.init(state: state, record: root.record("changed") ?? 0)
        since = root.timestamp("since")
        person = Person(root["person"])
        lastSeen = root.timestamp("lastSeen")
        reason = root["reason"]?.string
        note = root["note"]?.string
        isAnnounced = root["announced"]?.bool ?? false
        began = Beginning(root)
        placement = Placement(root["queue"])
        waitBegan = root.record("waits")
        offer = Offer(root["offer"])
        snoozedUntil = root.timestamp("snoozedUntil")
        unanswered = root["unanswered"].flatMap { value in
            value.timestamp("since").map {
                Unanswered(since: $0, isFirst: value["first"]?.bool ?? false)
            }
        }
    }
}

extension Assignment.Beginning {
    /// Parses `began` and `seq`; nil without a valid `seq`.
    fileprivate init?(_ root: JSONValue) {
        guard let sequence = root["seq"]?.int, sequence > 0 else { return nil }
        self.init(record: root.record("began") ?? 0, sequence: sequence)
    }
}

extension Person {
    /// Parses `{"id":"…","name":"…"}`; nil for another value.
    package init?(_ value: JSONValue?) {
        guard let id = value?["id"]?.string else { return nil }
        self.init(id: id, name: value?["name"]?.string)
    }
}

extension ConversationKey {
    /// Parses the members `business` and `customer`; nil without them.
    init?(_ root: JSONValue) {
        guard let business = root["business"]?.string, let customer = root["customer"]?.string else {
            return nil
        }
        self.init(business: BusinessID(business), customer: CustomerID(customer))
    }
}

extension JSONValue {
    /// Returns the member with this name as the number of a record; nil for any other value.
    func record(_ name: String) -> UInt64? { self[name]?.int.flatMap { $0 > 0 ? UInt64($0) : nil } }

    func timestamp(_ name: String) -> Timestamp? {
        self[name]?.string.flatMap { Timestamp(rfc3339: $0) }
    }

    /// The member `index`, which is the index of a reply in its outcome; nil when it is missing or invalid.
    fileprivate var replyIndex: Int? { self["index"]?.int.flatMap { $0 >= 0 ? $0 : nil } }

    fileprivate var messageKind: BusinessMessages.Kind? {
        self["kind"]?.string.flatMap(BusinessMessages.Kind.init(rawValue:))
    }
}
