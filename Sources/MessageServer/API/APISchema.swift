/// The schemas of answers and request bodies; the raw value is the schema's name in the OpenAPI document.
enum APISchema: String, CaseIterable, Sendable {
    /// Any JSON object.
    case any = "Any"
    case businesses = "Businesses"
    case handlerStatus = "HandlerStatus"
    case restarted = "Restarted"
    case logLines = "LogLines"
    case conversation = "Conversation"
    case conversations = "Conversations"
    case person = "Person"
    case claim = "Claim"
    case release = "Release"
    case empty = "Empty"
    case presence = "Presence"
    case typing = "Typing"
    case withdrawal = "Withdrawal"
    case withdrawn = "Withdrawn"
    case lines = "Lines"
    /// The answer of `/v1/events` to a caller that accepts JSON only: events and the place after them.
    case eventPage = "EventPage"
    /// One event, as the data of `/v1/events` or on its page.
    case event = "Event"
    case message = "Message"
    case deliveries = "Deliveries"
    case delivery = "Delivery"
    case listedDelivery = "ListedDelivery"
    case replies = "Replies"
    case reply = "Reply"
    case replyResult = "ReplyResult"
    case records = "Records"
    case results = "Results"
    case newMessage = "NewMessage"
    case newInvitation = "NewInvitation"
    case sent = "Sent"
    case messageProblem = "MessageProblem"
    /// A rule that a handler's refused answer breaks.
    case answerProblem = "AnswerProblem"
    case upload = "Upload"
    /// The bytes of an upload.
    case bytes = "Bytes"
    case problem = "Problem"
    /// The bytes of a file.
    case content = "Content"

    /// A reference to the schema (OpenAPI 3.1 §4.8.23).
    var reference: String { ##"{"$ref":"#/components/schemas/\##(rawValue)"}"## }

    /// The JSON Schema (draft 2020-12).
    var json: String {
        switch self {
        case .any: #"{"type":"object"}"#
        case .content: #"{}"#
        case .businesses: object(["businesses": list(Self.business)])
        case .handlerStatus:
            object(
                [
                    "health": Self.text, "restarts": Self.count, "inFlight": Self.count,
                    "pending": Self.count,
                    "stuck": Self.count, "downSeconds": Self.count,
                ], optional: ["downSeconds"])
        case .restarted: object(["restarted": #"{"const":true}"#])
        case .logLines: object(["lines": list(Self.text)])
        case .person:
            object(["id": Self.text, "name": Self.text, "since": Self.time], optional: ["name", "since"])
        case .claim:
            object(
                [
                    "person": object(["id": Self.personText, "name": Self.personText], optional: ["name"]),
                    "take": Self.flag,
                ], optional: ["take"])
        case .release:
            object(["to": #"{"enum":["handler","waiting"]}"#, "note": Self.text], optional: ["note"])
        case .empty: object([:])
        case .presence:
            // `text` is required when `open` is false.
            #"""
            {"type":"object","additionalProperties":false,"required":["open"],"properties":{"open":{"type":"boolean"},\#
            "text":{"type":"string","pattern":"\\S","maxLength":2000}},\#
            "anyOf":[{"properties":{"open":{"const":true}}},{"required":["text"]}]}
            """#
        case .typing: object(["typing": Self.flag])
        case .withdrawal: object(["requestIdentifier": Self.text])
        case .withdrawn: object(["withdrawn": Self.flag])
        case .conversation:
            object(
                [
                    "id": Self.hash, "customer": Self.text,
                    "state": #"{"enum":["handler","waiting","person","closed"]}"#, "since": Self.time,
                    "person": APISchema.person.reference, "reason": Self.text, "note": Self.text,
                    "capabilities": Self.text, "locale": Self.text, "intent": Self.text, "group": Self.text,
                    "lines": Self.count,
                    "last": Self.last, "lastInbound": Self.last, "unansweredSince": Self.time,
                ],
                optional: [
                    "since", "person", "reason", "note", "capabilities", "locale", "intent", "group", "last",
                    "lastInbound", "unansweredSince",
                ])
        case .conversations:
            object(
                [
                    "conversations": list(APISchema.conversation.reference), "searched": Self.count,
                    "unreadable": Self.count,
                ],
                optional: ["searched", "unreadable"])
        case .lines: object(["lines": list(Self.line)])
        case .eventPage: object(["events": list(APISchema.event.reference), "after": Self.text])
        case .event: Self.eventObject
        case .message:
            object(
                [
                    "line": Self.line, "files": list(Self.file), "outcome": Self.outcome,
                    "status": Self.count, "reason": Self.text,
                ], optional: ["line", "outcome", "status", "reason"])
        case .newMessage: object(Self.messageMembers, optional: Set(Self.messageMembers.keys))
        case .newInvitation:
            object(
                Self.messageMembers.merging(["customer": Self.telephone]) { first, _ in first },
                optional: Set(Self.messageMembers.keys))
        case .sent:
            object(
                [
                    "id": Self.text, "outcome": Self.outcome, "status": Self.count, "reason": Self.text,
                    "problems": list(APISchema.messageProblem.reference),
                ], optional: ["id", "status", "reason", "problems"])
        case .messageProblem:
            object(
                [
                    "rule": Self.text, "severity": #"{"enum":["error","warning"]}"#, "pointer": Self.text,
                    "line": Self.count, "column": Self.count, "found": Self.text, "allowed": Self.text,
                    "passage": Self.text,
                ], optional: ["line", "column"])
        case .answerProblem:
            object([
                "rule": Self.text, "pointer": Self.text, "found": Self.text, "allowed": Self.text,
                "passage": Self.text,
            ])
        case .upload: object(["id": Self.uploadID, "size": Self.count])
        case .bytes: #"{"type":"string","format":"binary"}"#
        case .deliveries: object(["deliveries": list(APISchema.listedDelivery.reference)])
        case .listedDelivery: delivery(replies: list(Self.text))
        case .delivery: delivery(replies: list(APISchema.reply.reference))
        case .replies: object(["replies": list(APISchema.reply.reference)])
        case .reply:
            object(
                [
                    "id": Self.replyID, "at": Self.time, "conversation": Self.hash, "message": Self.text,
                    "kind": Self.text, "status": Self.text, "httpStatus": Self.count, "reason": Self.text,
                    "attempts": Self.count, "next": Self.time,
                ], optional: ["httpStatus", "reason", "next"])
        case .replyResult:
            object(
                [
                    "reply": Self.replyID,
                    "result": #"{"enum":["retried","alreadyRetried","dropped","alreadyDropped"]}"#,
                    "as": Self.count,
                ], optional: ["as"])
        case .records:
            object(["records": #"{"type":"array","minItems":1,"maxItems":1000,"items":\#(Self.record)}"#])
        case .results: object(["results": list(Self.result)])
        case .problem:
            #"""
            {"type":"object","required":["type","title","status","reference"],"properties":{"type":{"type":"string"},\#
            "title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string"},\#
            "parameter":{"type":"string"},"pointer":{"type":"string"},"line":{"type":"integer"},\#
            "column":{"type":"integer"},"fallback":{"type":"string"},"reference":{"type":"string"},\#
            "problems":{"type":"array","items":\#(APISchema.messageProblem.reference)}}}
            """#
        }
    }

    /// An example for the OpenAPI document; nil when the schema has none.
    var example: String? {
        switch self {
        case .newMessage: #"{"text":"Your bread is ready.","person":{"id":"ana","name":"Ana"}}"#
        case .sent: #"{"id":"0b1c2d3e-0000-8000-8000-000000000000","outcome":"accepted","status":200}"#
        default: nil
        }
    }

    private func delivery(replies: String) -> String {
        object(
            [
                "record": Self.count, "at": Self.time, "conversation": Self.hash, "message": Self.text,
                "kind": Self.text, "status": Self.text, "reason": Self.text,
                "problems": list(APISchema.answerProblem.reference), "attempts": Self.count,
                "next": Self.time, "replayOf": Self.count, "replayedAs": Self.count, "replies": replies,
            ], optional: ["kind", "reason", "problems", "next", "replayOf", "replayedAs"])
    }

    private static let text = #"{"type":"string"}"#
    /// An event; other members depend on its type, as the page "Follow what happens" lists them.
    private static let eventObject: String = {
        let types = EventRoutes.types + [EventText.resetName]
        let names = types.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"type":"object","properties":{"type":{"enum":[\#(names)]},"key":{"type":"string"},"#
            + #""at":{"type":"string","format":"date-time"},"business":{"type":"string"},"#
            + #""conversation":{"type":"string"}},"required":["type"]}"#
    }()
    private static let flag = #"{"type":"boolean"}"#
    /// The id or name of a person: up to 200 bytes without control characters.
    ///
    /// `(?!\n)` refuses a final line feed, because `$` also matches before it in some languages.
    private static let personText =
        #"{"type":"string","pattern":"^([ -~]{1,200}|[^\\u0000-\\u001f\\u007f]{1,50})(?!\\n)$"}"#
    private static let count = #"{"type":"integer","minimum":0}"#
    /// A number that every JSON parser reads exactly (RFC 8259 §6).
    private static let record = #"{"type":"integer","minimum":0,"maximum":9007199254740991}"#
    private static let time = #"{"type":"string","format":"date-time"}"#
    private static let hash = #"{"type":"string","pattern":"^[0-9a-f]{64}$"}"#
    private static let outcome =
        #"{"enum":["queued","accepted","refused","expired","dropped","failed","erased","checked"]}"#
    private static let telephone = #"{"type":"string","pattern":"^tel:\\+[0-9]{5,15}$"}"#
    private static let uploadID = #"{"type":"string","pattern":"^[0-9a-f]{32}$"}"#
    private static let messageMembers = [
        "message": #"{"type":"object"}"#, "text": text,
        "attachments": #"""
        {"type":"array","minItems":1,"maxItems":\#(SendingBody.maximumAttachments),"items":\#(object([
            "id": uploadID, "name": text, "mimeType": text,
        ]))}
        """#, "person": object(["id": text, "name": text], optional: ["name"]), "autoReply": flag,
        "take": flag,
    ]
    private static let replyID = #"{"type":"string","pattern":"^[0-9]+\\.[0-9]+$"}"#
    private static let business = object([
        "slug": text, "businessID": text, "name": text, "handler": APISchema.handlerStatus.reference,
        "counts": object(["waiting": count, "person": count, "deadLetters": count]),
    ])
    private static let last = object([
        "seq": count, "at": time, "direction": #"{"enum":["inbound","outbound"]}"#, "kind": text,
        "summary": text,
    ])
    /// A line of a conversation's file, as the manual's page on the data directory describes it.
    private static let line = #"""
        {"type":"object","required":["seq","at","direction","id","kind","customer","record"],\#
        "properties":{"seq":{"type":"integer"},"at":{"type":"string"},"direction":{"enum":["inbound","outbound"]},\#
        "id":{"type":"string"},"kind":{"type":"string"},"customer":{"type":"string"},"record":{"type":"integer"},\#
        "message":{"type":"object"},"files":{"type":"array"},"signIn":{"type":"object"},
        "payment":{"type":"object"}}}
        """#
    private static let file = object(
        ["sha256": hash, "size": count, "failure": text], optional: ["sha256", "size", "failure"])
    private static let result = object(
        [
            "record": count,
            "result": #"""
            {"enum":["replayed","alreadyReplayed","dropped","alreadyDropped","notDead","unknown"]}
            """#, "as": count,
        ], optional: ["as"])
}

private func list(_ items: String) -> String { #"{"type":"array","items":\#(items)}"# }

/// The schema of an object with these members and no others.
private func object(_ members: [String: String], optional: Set<String> = []) -> String {
    let names = members.keys.sorted()
    let properties = names.map { #""\#($0)":\#(members[$0] ?? "{}")"# }.joined(separator: ",")
    let required = names.filter { !optional.contains($0) }.map { #""\#($0)""# }.joined(separator: ",")
    return #"""
        {"type":"object","additionalProperties":false,"required":[\#(required)],"properties":{\#(properties)}}
        """#
}
