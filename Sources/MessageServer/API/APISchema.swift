import MessageStore

/// The schemas of answers and bodies that are not written or read by a list of fields.
extension JSONSchema {
    static let restarted = closed(["restarted": #"{"const":true}"#]).named("Restarted")
    static let person = closed(["id": .text, "name": .text.optional, "since": .time.optional]).named("Person")
    static let claim = closed([
        "person": namedPerson, "take": .flag.optional, "opening": .flag.optional,
    ]).named("Claim")
    static let takeNext = closed(["person": namedPerson, "queue": .text.optional]).named("TakeNext")
    static let named = closed(["person": namedPerson]).named("Named")
    static let snooze = closed(["until": .time.optional]).named("Snooze")
    static let offer = closed(["person": person.optional, "until": .time, "asked": list(.text)]).named(
        "Offer")
    static let taken = closed(["conversation": conversation.optional]).named("Taken")
    static let placement = closed([
        "id": .text.optional, "priority": .count.optional, "person": .text.optional,
        "rule": .text.optional, "since": .time.optional,
    ]).named("Placement")
    static let release = closed([
        "to": choice(["handler", "waiting"]), "note": .text.optional, "queue": .text.optional,
        "person": namedPerson,
    ])
    .named("Release")
    static let empty = closed([:]).named("Empty")
    static let note = closed(["text": noteText, "person": namedPerson]).named(
        "Note", example: #"{"text":"Wants the blue one."}"#)
    static let savedReply = closed([
        "title": .text, "text": .text.optional, "message": .anyObject.optional, "queue": .text.optional,
        "attachments": attachments.optional,
    ]).named("NewSavedReply", example: #"{"title":"Opening hours","text":"We are open from 9 to 18."}"#)
    static let consent = closed([
        "state": choice(["given", "withdrawn"]), "at": .time, "words": .text.optional, "types": list(.text),
    ]).named("Consent")
    static let noted = closed(["id": .text]).named("Noted")
    static let customerChange = closed([
        "name": .text.optional, "addTags": list(.text).optional, "removeTags": list(.text).optional,
        "person": namedPerson,
    ]).named("CustomerChange", example: #"{"name":"Ana Sousa","addTags":["vip"]}"#)
    /// `text` is required when `open` is false.
    static let presence: JSONSchema = JSONSchema(
        stringLiteral: #"""
            {"type":"object","additionalProperties":false,"required":["open"],"properties":{"open":{"type":"boolean"},\#
            "text":{"type":"string","pattern":"\\S","maxLength":2000},"until":{"type":"string","format":"date-time"}},\#
            "anyOf":[{"properties":{"open":{"const":true}}},{"required":["text"]}]}
            """#
    ).named("Presence")
    static let presenceState = closed([
        "open": .flag, "text": .text.optional, "until": .time.optional, "opensAt": .time.optional,
        "link": .text.optional,
    ]).named("PresenceState")
    private static let availabilityChoice = choice(Availability.State.allCases.map(\.rawValue))
    static let availability = closed(["state": availabilityChoice.optional, "conversation": .hash.optional])
        .named("Availability")
    static let availabilityState = closed(["state": availabilityChoice]).named("AvailabilityState")
    static let typing = closed(["typing": .flag]).named("Typing")
    static let withdrawal = closed(["requestIdentifier": .text]).named("Withdrawal")
    static let withdrawn = closed(["withdrawn": .flag]).named("Withdrawn")
    static let conversation = ConversationFacts.form.schema
    static let lines = closed(["lines": list(line)]).named("Lines")
    /// The answer of `/v1/events` to a caller that accepts JSON only: events and the place after them.
    static let eventPage = closed(["events": list(event), "after": .text]).named("EventPage")
    /// One event; other members depend on its type, as the page "Follow what happens" lists them.
    static let event = object(
        ["type": choice(EventRoutes.types + [EventText.resetName])],
        optional: ["key": .text, "at": .time, "business": .text, "conversation": .text]
    ).named("Event")
    static let newMessage = object(messageMembers, isClosed: true).named(
        "NewMessage", example: #"{"text":"Your bread is ready.","person":{"id":"ana","name":"Ana"}}"#)
    static let newInvitation = object(
        messageMembers + [("customer", #"{"type":"string","pattern":"^tel:\\+[0-9]{5,15}$"}"#)],
        isClosed: true
    ).named("NewInvitation")
    static let sent = closed([
        "id": .text.optional, "outcome": outcome, "status": .count.optional, "reason": .text.optional,
        "problems": SendingBody.problemsSchema.optional,
    ]).named(
        "Sent",
        example: #"{"id":"0b1c2d3e-0000-8000-8000-000000000000","outcome":"accepted","status":200}"#)
    /// A rule that a handler's refused answer breaks.
    static let answerProblem = closed([
        "rule": .text, "pointer": .text, "found": .text, "allowed": .text, "passage": .text,
    ]).named("AnswerProblem")
    static let upload = closed(["id": uploadID, "size": .count]).named("Upload")
    /// Each is a number that every JSON parser reads exactly (RFC 8259 §6).
    static let records = closed(["records": list(integer(0...(1 << 53) - 1), 1...1000)]).named("Records")
    static let problem = object(
        ["type": .text, "title": .text, "status": #"{"type":"integer"}"#, "reference": .text],
        optional: [
            "detail": .text, "parameter": .text, "pointer": .text, "line": #"{"type":"integer"}"#,
            "column": #"{"type":"integer"}"#, "fallback": .text, "problems": SendingBody.problemsSchema,
        ]
    ).named("Problem")

    private static let noteText: JSONSchema = #"{"type":"string","pattern":"\\S","maxLength":8000}"#
    /// The id or name of a person: up to 200 bytes without control characters.
    ///
    /// `(?!\n)` refuses a final line feed, because `$` also matches before it in some languages.
    private static let personText: JSONSchema =
        #"{"type":"string","pattern":"^([ -~]{1,200}|[^\\u0000-\\u001f\\u007f]{1,50})(?!\\n)$"}"#
    private static let namedPerson = closed(["id": personText, "name": personText.optional]).optional
    static let outcome = choice([
        "queued", "accepted", "refused", "expired", "dropped", "failed", "erased", "checked",
    ])
    private static let uploadID: JSONSchema = #"{"type":"string","pattern":"^[0-9a-f]{32}$"}"#
    /// Uploaded files, as a message names them.
    static let attachments = list(
        closed(["id": uploadID, "name": .text, "mimeType": .text]), 1...SendingBody.maximumAttachments)
    private static let messageMembers: [(name: String, schema: JSONSchema)] = [
        ("message", .anyObject.optional), ("text", .text.optional),
        ("attachments", attachments.optional),
        ("person", closed(["id": .text, "name": .text.optional]).optional), ("autoReply", .flag.optional),
        ("take", .flag.optional), ("purpose", .text.optional),
    ]
    /// A line of a conversation's file, as the manual's page on the data directory describes it.
    static let line = object(
        [
            "seq": #"{"type":"integer"}"#, "at": .text,
            "direction": choice(["inbound", "outbound", "internal"]),
            "id": .text, "kind": .text, "customer": .text, "record": #"{"type":"integer"}"#,
        ],
        optional: [
            "message": .anyObject, "files": #"{"type":"array"}"#, "signIn": .anyObject, "payment": .anyObject,
        ])
    static let file = closed([
        "sha256": .hash.optional, "size": .count.optional, "failure": .text.optional,
    ])
}
