import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// The bodies of journal records; each is a JSON object that begins with `"type"`.
///
/// The writer adds the record's number, the batch and the checksum: see ``JournalLine``. The member `of` is
/// the record number of a message.
enum JournalBody {
    /// `{"type":"segment","format":1,"at":"…"}`: the first line of every segment.
    static func segment(at: Timestamp) -> [UInt8] {
        object("segment") {
            $0.field("format", 1)
            $0.field("at", at)
        }
    }

    /// `{"type":"abandoned","from":3,"to":9}`: these records do not count, even when segments contain their
    /// lines.
    static func abandoned(_ records: ClosedRange<UInt64>) -> [UInt8] {
        object("abandoned") {
            $0.field("from", Int(records.lowerBound))
            $0.field("to", Int(records.upperBound))
        }
    }

    /// A received or proactive message.
    ///
    /// `{"type":"message","at":"…","business":"…","customer":"…","id":"…","attributes":{…},"message":{…}}`
    ///
    /// Optional members before the message: `"reference":true` for a payload reference; `"replayOf":12` for a
    /// replay of that message, with `"retriedReply":0` when only that reply is sent again; and
    /// `"act":"closes"` or `"neither"` for a message without content.
    ///
    /// A proactive message of kind `text` has `"outbound":"text"` and its ``MessageAuthor``. `"request":"…"`
    /// is the SHA-256 of the API request that sent it, and `"until":"…"` the time after which it is not sent. `"claims":12` means that the author claims the
    /// conversation; the number is that of the conversation's next line. `"change":12` means that the message is the line of
    /// that change of an assignment.
    ///
    /// A caller that has the message's keys passes them.
    static func message(
        _ message: ReceivedMessage, _ key: MessageKey? = nil, replayOf original: UInt64? = nil,
        retriedReply: Int? = nil, claimedAt sequence: Int? = nil, in conversation: ConversationKey? = nil
    ) -> AppendedRecord {
        let body = JSONWriter.object(reservingCapacity: message.message.count + 512) { writer in
            writer.field("type", "message")
            writer.field("at", message.receivedAt)
            writer.field("business", message.business.rawValue)
            writer.field("customer", message.customer.rawValue)
            writer.field("id", message.id.rawValue)
            writer.field("replayOf", original.map { Int(clamping: $0) })
            writer.field("retriedReply", retriedReply)
            writer.field("outbound", message.outboundKind?.rawValue)
            writer.record(author: message.author)
            writer.field("request", message.requestDigest)
            if let until = message.until { writer.field("until", until) }
            writer.field("claims", sequence)
            writer.field("change", message.change.map { Int(clamping: $0) })
            if message.act != .writes { writer.field("act", message.act.rawValue) }
            write(message.attributes, to: &writer)
            if message.hasPayloadReference { writer.field("reference", true) }
            write(message: message.message, to: &writer)
        }
        let meaning = JournalRecord.Message(
            conversation: conversation ?? message.conversation, id: message.id, key: key ?? message.key,
            at: message.receivedAt, hasReference: message.hasPayloadReference, replayOf: original,
            retriedReply: retriedReply,
            outboundKind: message.outboundKind, act: message.act, author: message.author, claimedAt: sequence,
            change: message.change)
        return AppendedRecord(meaning: .message(meaning), body: body)
    }

    /// The result of a payload reference.
    ///
    /// `{"type":"resolved","of":12,"at":"…","message":{…}}`, or `"failure":"…"` instead of the message.
    ///
    /// A message that answers a ``ServerQuestion`` has `"act":"neither"`.
    static func resolved(
        of record: UInt64, _ resolution: Resolution, act: ReceivedMessage.Act = .writes, at: Timestamp
    ) -> AppendedRecord {
        change(of: record, .resolved(act: act), "resolved") {
            $0.field("at", at)
            if act != .writes { $0.field("act", act.rawValue) }
            switch resolution {
            case .resolved(let message): write(message: message, to: &$0)
            case .failed(let reason): $0.field("failure", reason)
            }
        }
    }

    /// The results of a message's attachments, in order, and of its sign-in or its payment.
    ///
    /// `{"type":"files","of":12,"at":"…","ownLine":true,`
    /// `"files":[{"sha256":"…","size":148861},{"failure":"…"}]}`.
    ///
    /// `ownLine` means that the conversation has a separate line for the results; earlier versions wrote
    /// none. A ``RecordedSignIn`` is in `"signIn":{…}`, and a ``RecordedPayment`` in `"payment":{…}`.
    static func files(
        of record: UInt64, _ files: [RecordedFile], signIn: RecordedSignIn? = nil,
        payment: RecordedPayment? = nil, at: Timestamp
    ) -> AppendedRecord {
        change(of: record, .files, "files") { writer in
            writer.field("at", at)
            writer.field("ownLine", true)
            writer.fields(["files": files, "signIn": signIn, "payment": payment])
        }
    }

    /// `{"type":"began","of":12,"at":"…","last":"…"}`: a conversation begins with this message of its customer.
    ///
    /// `last` is the time of the last message of either side before it; the customer's first conversation has none.
    static func began(of record: UInt64, _ conversation: NewConversation, at: Timestamp) -> AppendedRecord {
        change(of: record, .began(conversation), "began") {
            $0.field("at", at)
            if let last = conversation.lastContact { $0.field("last", last) }
        }
    }

    /// The decision of a handler.
    ///
    /// `{"type":"outcome","of":12,"at":"…","attempt":1,"kind":"text","outcome":"rejected","reason":"…",`
    /// `"replyCount":2,"replies":[…]}`;
    /// each reply is `{"id":"…","kind":"text","message":{…}}`, with an author of its own if that is not the outcome's. Outcomes are `handled`, `rejected`,
    /// `handedOff` and `failed`; `failed` comes with the `"problems":[…]` of the refused answer. The record
    /// also has the ``MessageAuthor`` of the replies.
    ///
    /// `"state":{…}` is the handler's new state of the conversation, if the decision changes it. When the
    /// conversation waits for a person from then on, the record has
    /// `"waiting":{"business":"…","customer":"…","seq":12}`; `seq` is the number of the conversation's next
    /// line. With them the handler's `note` and its `queue`, a ``Placement``, if it named them.
    static func outcome(
        of record: UInt64, attempt: Int, kind: Kind?, _ outcome: DecidedOutcome,
        handOff: AssignmentRecord? = nil, at: Timestamp
    ) -> AppendedRecord {
        let meaning = JournalRecord.Outcome(
            at: at, kind: kind, replies: outcome.replies.count, handOff: handOff)
        return change(of: record, .outcome(meaning), "outcome") { writer in
            writer.field("at", at)
            writer.field("attempt", attempt)
            writer.field("kind", kind?.rawValue)
            writer.field("outcome", outcome.result.status.rawValue)
            writer.field("reason", outcome.result.reason)
            write(problems: outcome.result.problems, to: &writer)
            if let state = outcome.state {
                writer.key("state")
                writer.raw(oneLine(state))
            }
            if let handOff {
                writer.object("waiting") { writer in
                    writer.field("business", handOff.conversation.business.rawValue)
                    writer.field("customer", handOff.conversation.customer.rawValue)
                    writer.field("seq", handOff.assignment.began?.sequence)
                    writer.field("note", handOff.assignment.note)
                    guard let placement = handOff.assignment.placement else { return }
                    writer.key("queue")
                    placement.write(to: &writer)
                }
            }
            writer.record(author: outcome.author)
            writer.field("replyCount", outcome.replies.count)
            writer.array("replies") { writer in
                for reply in outcome.replies {
                    writer.object { writer in
                        writer.field("id", reply.id.rawValue)
                        writer.field("kind", reply.kind.rawValue)
                        if let author = reply.author { writer.record(author: author) }
                        writer.key("message")
                        writer.raw(oneLine(reply.message))
                    }
                }
            }
        }
    }

    /// The end of a reply.
    ///
    /// `{"type":"reply","of":12,"index":0,"id":"…","result":"accepted","status":200,"reason":"…","attempts":1,"at":"…"}`;
    /// results are `accepted`, `refused`, `expired` and `dropped`; earlier versions also wrote `failed`.
    ///
    /// When the end is reported to the handler, the same record is also the event that reports it, with
    /// `"business":"…","customer":"…","attributes":{…},`
    /// `"message":{"reply":"…","inReplyTo":"…","kind":"text","status":"refused","httpStatus":400,"reason":"…","attempts":1}`.
    static func reply(
        _ entry: OutboxEntry, _ result: ReplyResult, attempts: Int, isReported: Bool, at: Timestamp
    ) -> AppendedRecord {
        let meaning = JournalRecord.Reply(
            index: entry.id.index, id: entry.reply.id, result: result, attempts: attempts, at: at,
            reportedIn: isReported ? entry.conversation : nil)
        return change(of: entry.id.record, .reply(meaning), "reply") {
            $0.field("index", entry.id.index)
            $0.field("id", entry.reply.id.rawValue)
            $0.field("result", result.status.rawValue)
            $0.field("status", result.httpStatus)
            $0.field("reason", result.reason)
            $0.field("attempts", attempts)
            $0.field("at", at)
            guard isReported else { return }
            $0.field("business", entry.business.rawValue)
            $0.field("customer", entry.customer.rawValue)
            write(entry.attributes, to: &$0)
            $0.key("message")
            $0.object {
                $0.field("reply", entry.reply.id.rawValue)
                $0.field("inReplyTo", entry.inReplyTo?.rawValue)
                $0.field("kind", entry.reply.kind.rawValue)
                $0.field("status", result.status.rawValue)
                $0.field("httpStatus", result.httpStatus)
                $0.field("reason", result.reason)
                $0.field("attempts", attempts)
            }
        }
    }

    /// `{"type":"replyAttempt","of":12,"index":0,"attempt":1,"at":"…","next":"…"}`: an attempt to send a
    /// reply failed; the next attempt is at `next`.
    static func replyAttempt(of reply: ReplyID, _ attempt: Int, at: Timestamp, next: Timestamp)
        -> AppendedRecord
    {
        change(
            of: reply.record, .replyAttempt(.init(index: reply.index, number: attempt, next: next)),
            "replyAttempt"
        ) {
            $0.field("index", reply.index)
            $0.field("attempt", attempt)
            $0.field("at", at)
            $0.field("next", next)
        }
    }

    /// `{"type":"attempt","of":12,"attempt":1,"at":"…","next":"…","parked":true}`: a delivery's attempt ended
    /// without an outcome; the next attempt is at `next`, and the delivery may be parked until then.
    ///
    /// `"crashed":true` instead of `next` means that the process crashed during this attempt.
    static func attempt(
        of record: UInt64, _ attempt: Int, at: Timestamp, next: Timestamp?, isParked: Bool = false
    ) -> AppendedRecord {
        let isCrash = next == nil
        return change(
            of: record, .attempt(.init(number: attempt, isCrash: isCrash, isParked: isParked, next: next)),
            "attempt"
        ) {
            $0.field("attempt", attempt)
            $0.field("at", at)
            if let next { $0.field("next", next) }
            if isParked { $0.field("parked", true) }
            if isCrash { $0.field("crashed", true) }
        }
    }

    /// The end of a delivery.
    ///
    /// `{"type":"finished","of":12,"kind":"text","result":"handled","reason":"…","at":"…"}`; `kind` is
    /// missing when the message has no conversation line. `attempts` is the number of handler calls, if the last
    /// one led to this end. With the result `repeated`, `original` is the id of
    /// the message whose choice was repeated. With `failed`, `"problems":[…]` lists the broken rules of a
    /// refused answer.
    static func finished(
        of record: UInt64, kind: Kind?, _ result: DeliveryResult, attempts: Int? = nil, at: Timestamp
    ) -> AppendedRecord {
        let meaning = JournalRecord.Finished(
            kind: kind, result: result.status, reason: result.reason, original: result.original,
            isRefusal: result.problems != nil,
            attempts: attempts ?? 0)
        return change(of: record, .finished(meaning), "finished") {
            $0.field("kind", kind?.rawValue)
            $0.field("result", result.status.rawValue)
            $0.field("reason", result.reason)
            write(problems: result.problems, to: &$0)
            $0.field("original", result.original?.rawValue)
            $0.field("attempts", attempts)
            $0.field("at", at)
        }
    }

    /// `{"type":"dropped","of":12,"index":0,"at":"…"}`: a dead letter was dropped: the event, or its reply
    /// with this `index`.
    static func dropped(of record: UInt64, reply index: Int? = nil, at: Timestamp) -> AppendedRecord {
        change(of: record, .dropped(reply: index), "dropped") {
            $0.field("index", index)
            $0.field("at", at)
        }
    }

    /// A copy of an event that is a dead letter, for when the event's segment is deleted.
    ///
    /// `{"type":"carried","of":12,"at":"…","business":"…","customer":"…","id":"…","replayOf":…,"kind":"text",`
    /// `"attempts":7,"result":"failed","reason":"…","problems":[…],"attributes":{…},"reference":true,"message":{…}}`;
    /// `of` is the event's record number, and `at` its arrival time.
    static func carried(_ event: JournalEvent) -> AppendedRecord {
        let key = ConversationKey(business: event.business, customer: event.customer)
        return change(of: event.record, .carried(reply: nil, in: key, at: event.at), "carried") { writer in
            writer.field("at", event.at)
            writer.field("business", event.business.rawValue)
            writer.field("customer", event.customer.rawValue)
            writer.field("id", event.id.rawValue)
            writer.field("replayOf", event.replayOf.map { Int(clamping: $0) })
            writer.field("outbound", event.outboundKind?.rawValue)
            writer.record(author: event.author)
            writer.field("kind", event.kind?.rawValue)
            writer.field("attempts", event.attempts)
            writer.field("result", event.status.rawValue)
            writer.field("reason", event.reason)
            writer.field("problems", event.problems)
            write(event.attributes, to: &writer)
            if event.hasReference { writer.field("reference", true) }
            write(message: event.message.text, to: &writer)
        }
    }

    /// A copy of a reply that is a dead letter, for when the reply's segment is deleted.
    ///
    /// `{"type":"carried","of":12,"index":0,"at":"…","business":"…","customer":"…","id":"…","kind":"text","attempts":3,`
    /// `"result":"refused","status":400,"reason":"…","person":true,"attributes":{…},"message":{…}}`; `at` is
    /// the time at which the reply was decided.
    static func carried(_ reply: JournalReply) -> AppendedRecord {
        let key = ConversationKey(business: reply.business, customer: reply.customer)
        return change(
            of: reply.id.record, .carried(reply: reply.id.index, in: key, at: reply.decidedAt), "carried"
        ) { writer in
            writer.field("index", reply.id.index)
            writer.field("at", reply.decidedAt)
            writer.field("business", reply.business.rawValue)
            writer.field("customer", reply.customer.rawValue)
            writer.field("id", reply.messageID.rawValue)
            writer.field("kind", reply.kind.rawValue)
            writer.field("attempts", reply.attempts)
            writer.field("result", reply.status.rawValue)
            writer.field("status", reply.httpStatus)
            writer.field("reason", reply.reason)
            writer.record(author: reply.author)
            write(reply.attributes, to: &writer)
            write(message: reply.message, to: &writer)
        }
    }

    /// The assignment of a conversation after a change.
    ///
    /// `{"type":"assignment","at":"…","business":"…","customer":"…","by":"claim","state":"person","since":"…",`
    /// `"person":{"id":"…","name":"…"},"lastSeen":"…","reason":"…","note":"…","announced":true,"began":57,"seq":12}`.
    /// `by` is the change. `began` is the record with which the conversation left its handler, unless that is
    /// this record; `seq` is the number that the conversation's next line had then.
    ///
    /// With queues it also has the ``Placement`` `"queue":{…}`, the ``Offer`` `"offer":{…}` `snoozedUntil` and `unanswered`, if any, and `waits`, the record with which the wait began, unless that is
    /// this record. Readers ignore other members.
    ///
    /// A copy in a later segment has `"by":"copy"`, and the original's record number in `changed`. Its
    /// `ended` is the record with which the conversation last left a person, or 0, and `reopened` the customer's
    /// message that last opened the conversation after a close.
    static func assignment(
        _ assignment: Assignment, of conversation: ConversationKey, by change: String,
        endedIn: UInt64? = nil, reopenedIn: UInt64 = 0, at: Timestamp
    ) -> AppendedRecord {
        let meaning = AssignmentRecord(
            conversation: conversation, assignment: assignment, endedIn: endedIn, reopenedIn: reopenedIn)
        return record(.assignment(meaning), "assignment") { writer in
            writer.field("at", at)
            writer.field("business", conversation.business.rawValue)
            writer.field("customer", conversation.customer.rawValue)
            writer.field("by", change)
            assignment.write(to: &writer)
            guard let endedIn else { return }
            writer.field("changed", Int(clamping: assignment.record))
            writer.field("ended", Int(clamping: endedIn))
            if reopenedIn > 0 { writer.field("reopened", Int(clamping: reopenedIn)) }
        }
    }

    /// `{"type":"checkpoint","through":12,"at":"…"}`: the conversation lines up to this record are on disk.
    ///
    /// These are the lines of every delivery whose `finished` record has at most this number.
    static func checkpoint(through record: UInt64, at: Timestamp) -> AppendedRecord {
        self.record(.checkpoint(through: record), "checkpoint") {
            $0.field("through", Int(record))
            $0.field("at", at)
        }
    }

    /// `{"type":"unsynced","at":"…"}`: a sync of conversations failed; until the next checkpoint, lines
    /// written since the last checkpoint may not be on disk, even when files contain them.
    static func unsynced(at: Timestamp) -> AppendedRecord {
        record(.unsynced, "unsynced") { $0.field("at", at) }
    }

    private static func write(_ attributes: ReceivedAttributes, to writer: inout JSONWriter) {
        if attributes.isEmpty { return }
        writer.object("attributes") { writer in
            writer.field("capabilityList", attributes.capabilityList)
            writer.field("locale", attributes.locale)
            writer.field("intent", attributes.intent)
            writer.field("group", attributes.group)
            writer.field("version", attributes.version)
            writer.field("deviceAgent", attributes.deviceAgent)
        }
    }

    private static func write(problems: [UInt8]?, to writer: inout JSONWriter) {
        guard let problems else { return }
        writer.key("problems")
        writer.raw(oneLine(problems))
    }

    /// A record about a message, which `of` names.
    private static func change(
        of record: UInt64, _ change: JournalRecord.Change, _ type: String,
        _ members: (inout JSONWriter) -> Void
    ) -> AppendedRecord {
        self.record(.change(of: record, change), type) {
            $0.field("of", Int(clamping: record))
            members(&$0)
        }
    }

    private static func record(
        _ meaning: JournalRecord, _ type: String, _ members: (inout JSONWriter) -> Void
    ) -> AppendedRecord {
        AppendedRecord(meaning: meaning, body: object(type, members))
    }

    private static func object(_ type: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 128) { writer in
            writer.field("type", type)
            members(&writer)
        }
    }

    /// Writes the member `message`; its value is the valid JSON text `json`, put on one line.
    private static func write(message json: some Collection<UInt8>, to writer: inout JSONWriter) {
        writer.key("message")
        writer.raw {
            let start = $0.count
            $0.append(contentsOf: json)
            makeOneLine(&$0, from: start)
        }
    }
}

/// Returns a valid JSON text on one line.
///
/// Line breaks inside strings are always escaped. Other line breaks are between tokens, where a space is
/// equivalent (RFC 8259 §2).
func oneLine(_ json: [UInt8]) -> [UInt8] {
    var text = json
    makeOneLine(&text, from: 0)
    return text
}

private func makeOneLine(_ text: inout [UInt8], from start: Int) {
    text.replace(UInt8(ascii: "\n"), with: UInt8(ascii: " "), from: start)
    text.replace(UInt8(ascii: "\r"), with: UInt8(ascii: " "), from: start)
}
