import BalloonJSON
import HandlerKit
import HandlerProtocol
import TestSupport
import Testing

struct EventTests {
    @Test(arguments: Kind.allCases)
    func `an event of each kind survives writing and parsing`(_ kind: Kind) throws {
        let context = try context(kind.rawValue)
        let params = try written { EventCall.write(context, to: &$0) }
        let read = try EventCall.context(params, logger: LogCollector().logger) { _ in [] }
        #expect(read.event.kind == kind)
        #expect(read.event.id == context.event.id)
        #expect(read.business == context.business)
        #expect(read.customer == context.customer)
        #expect(read.capabilities == [.quickReply, .form])
        #expect(read.locale == context.locale)
        #expect(read.deliveryID == context.deliveryID)
        #expect(read.attempt == 2)
        #expect(read.traceparent == context.traceparent && read.traceparent != nil)
        #expect(read.conversation.entries.map(\.seq) == [3])
        #expect(params["event"]?["kind"]?.string == kind.rawValue)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "{" + (0..<40_000).map { #""n\#($0)":1"# }.joined(separator: ",") + "}",
            #"{"replies":[\#(repeatElement("7", count: 32).joined(separator: ","))],"\#(String(repeating: "n", count: 500_000))":1}"#,
            #"{"replies":[{"type":"text","body":"x","attachments":[\#(repeatElement(#"{"path":"a"}"#, count: 20_000).joined(separator: ","))]}]}"#,
            #"{"outcome":"h\#(String(repeating: "\u{301}\u{323}", count: 60_000))"}"#,
            #"{"replies":[\#(repeatElement(#"{"type":"text","body":7,"\#(String(repeating: "[", count: 90))":1}"#, count: 32).joined(separator: ","))]}"#,
        ])
    func `an answer with thousands of problems is refused in time with a short list`(_ answer: String) throws
    {
        let result = try JSONDocument(Array(answer.utf8)).root
        let refusal = try #require(
            #expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(result, allowingFiles: true) })
        #expect((1...100).contains(refusal.problems.count))
        #expect(refusal.explanation.utf8.count < 100_000)
    }

    /// A message with half an emoji, its line of history and a state that has it; a pair and other escapes stay.
    private static let halfEmoji = #"{"type":"text","body":"half \ud83d whole \uD83D\uDE00 \u00e9"}"#

    @Test func `half an emoji in a message, its history or the state does not reach the handler's line`()
        throws
    {
        let document = try JSONDocument(Array(Self.halfEmoji.utf8))
        let entry = Conversation.Entry(
            seq: 1, at: "2026-07-10T17:00:00.000Z", direction: .inbound, kind: .text, id: MessageID("m"),
            message: document.root)
        let context = Context(
            event: .decode(message: document), conversation: Conversation(entries: [entry]),
            state: ConversationState(document.root), deliveryID: DeliveryID("42"),
            deadline: .now + .seconds(30), logger: LogCollector().logger)
        let line = String(
            decoding: RPCLine.request(id: 1, method: Method.event) { EventCall.write(context, to: &$0) },
            as: UTF8.self)
        #expect(!line.contains(#"\ud83d w"#))
        let shown = Self.halfEmoji.replacing(#"\ud83d w"#, with: #"\ufffd w"#)
        #expect(line.split(separator: shown, omittingEmptySubsequences: false).count == 4)
    }

    @Test func `the number of a replay that is older than the history survives writing and parsing`() throws {
        let event = try context("text").event
        let id = event.id
        let context = Context(
            event: event, conversation: Conversation(reading: { [] }, locating: { $0 == id ? 7 : nil }),
            deliveryID: DeliveryID("42"), isReplay: true, deadline: .now + .seconds(30),
            logger: LogCollector().logger)
        let params = try written { EventCall.write(context, to: &$0) }
        let read = try EventCall.context(params, logger: LogCollector().logger) { _ in [] }
        #expect(read.seq == 7)
        #expect(read.isReplay)
    }

    @Test func `the failure of a reply and the outcomes of earlier ones survive writing and parsing`()
        throws
    {
        let failure = ReplyFailure(
            reply: MessageID("r"), inReplyTo: MessageID("m"), kind: .listPicker, status: .refused,
            httpStatus: 400, reason: "Bad Request", attempts: 3)
        let message = try JSONDocument(failure.json)
        let entries = [("accepted", 3), ("queued", nil)].map { outcome, seq in
            Conversation.Entry(
                seq: seq, at: "2026-07-10T17:00:00.000Z", direction: .outbound, kind: .text,
                id: MessageID(outcome), outcome: outcome, message: message.root)
        }
        let context = Context(
            event: .decode(message: message, id: MessageID("r")), replyFailure: failure,
            conversation: Conversation(entries: entries), deliveryID: DeliveryID("42"),
            deadline: .now + .seconds(30), logger: LogCollector().logger)
        let params = try written { EventCall.write(context, to: &$0) }
        #expect(params["event"]?["kind"]?.string == "replyFailed")
        let read = try EventCall.context(params, logger: LogCollector().logger) { _ in [] }
        #expect(read.replyFailure == failure)
        #expect(read.subscription == .replyFailed)
        #expect(read.conversation.entries.map(\.outcome) == ["accepted", "queued"])
        #expect(read.conversation.entries.map(\.seq) == [3, nil])
    }

    @Test(arguments: [70_000, 2_000_000])
    func `a long text is in its file only, and the line is short`(length: Int) throws {
        let body =
            String(repeating: "a\u{301}\"", count: 10_000)
            + String(decoding: repeatingBytes(length, period: 1, first: UInt8(ascii: "a")), as: UTF8.self)
        let name = String(repeating: "n", count: 70_000)
        let json = JSONWriter.object { writer in
            for member in ["id", "locale", "intent", "group"] { writer.field(member, name) }
            writer.field("type", "text")
            writer.field("body", body)
        }
        let message = try JSONDocument(json, limits: JSONLimits(maximumBytes: 128 << 20))
        let context = Context(
            event: .decode(message: message, id: MessageID("m"), attributes: .read(document: message)),
            deliveryID: DeliveryID("1"), deadline: .now + .seconds(30), logger: LogCollector().logger)
        let line = JSONWriter.object { EventCall.write(context, messagePath: "/there", to: &$0) }
        #expect(line.count < 4096)
        let event = try JSONDocument(line).root["event"]
        #expect(event?["text"] == nil)
        #expect(event?["summary"]?.string?.hasSuffix("…") == true)
        let read = try EventCall.context(JSONDocument(line).root, logger: LogCollector().logger) { _ in json }
        guard case .text(let text) = read.event.content else {
            Issue.record("not a text")
            return
        }
        // Compares bytes, because a comparison of strings would normalize two million characters.
        #expect(Array(text.plainBody.utf8) == Array(body.utf8))
    }

    @Test func `a deadline beyond the range of the clock is limited`() throws {
        let context = try context("text")
        let original = try written { EventCall.write(context, to: &$0) }
        let params = try JSONDocument(original.replacing(members: ["deadlineMs": Array("\(Int.max)".utf8)]))
            .root
        let read = try EventCall.context(params, logger: LogCollector().logger) { _ in [] }
        #expect(read.deadline <= .now + .seconds(86_400))
    }

    @Test func `a long message is read from its file`() throws {
        let context = try context("text")
        let params = try written { EventCall.write(context, messagePath: "/there", to: &$0) }
        #expect(params["event"]?["message"] == nil)
        let read = try EventCall.context(params, logger: LogCollector().logger) { path in
            #expect(path == "/there")
            return Fixture.bytes("messages/form.json")
        }
        #expect(read.event.kind == .form)
    }

    @Test func `files have their paths, or the reason why they are missing`() throws {
        let original = try context("text")
        let files = [
            AttachmentFile.stored(path: "/data/attachments/ab/abc", sizeBytes: 7, sha256: "abc"),
            .missing(reason: "gone"),
        ]
        let context = Context(
            event: original.event, files: files, deliveryID: original.deliveryID, deadline: original.deadline,
            logger: original.logger)
        let params = try written { EventCall.write(context, to: &$0) }
        #expect(try EventCall.context(params, logger: original.logger) { _ in [] }.files == files)
        let without = try written { EventCall.write(original, to: &$0) }
        #expect(without["files"] == nil)
    }

    @Test func `a text may have files where they are allowed and their paths are absolute`() throws {
        let original = try context("text")
        let outcome = Outcome.handled([
            .text("Look:", files: [OutboundFile(path: "/srv/offer.pdf", mimeType: "application/pdf")])
        ])
        let answer = try written { EventAnswer.write(outcome, to: original, &$0) }
        #expect(try EventAnswer.outcome(answer, allowingFiles: true) == outcome)
        #expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(answer) }
        let relative = try JSONDocument(
            Array(#"{"replies":[{"type":"text","body":"x","attachments":[{"path":"offer.pdf"}]}]}"#.utf8)
        ).root
        let refusal = #expect(throws: AnswerRefusal.self) {
            try EventAnswer.outcome(relative, allowingFiles: true)
        }
        let problem = try #require(refusal?.problems.first)
        #expect(problem.rule == "attachmentPath")
        #expect(problem.pointer == "/replies/0/attachments/0/path")
        #expect(problem.found == #""offer.pdf""#)
        #expect(problem.allowed == "an absolute path")
    }

    @Test func `a problem's pointer begins at the answer, wherever the line contains it`() throws {
        let line = #"{"id":1,"result":{"outcome":"done","replies":["",{"type":"interactive"}]}}"#
        let result = try #require(JSONDocument(Array(line.utf8)).root["result"])
        let refusal = #expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(result) }
        let problems = try #require(refusal?.problems)
        #expect(problems.map(\.pointer) == ["/replies/0", "/replies/1", "/outcome"])
        #expect(problems.map(\.rule) == ["empty", "interactiveContent", "outcome"])
        #expect(problems.last?.allowed == "handled retry reject handoff")
        let params = try JSONDocument(
            Array(#"{"params":{"customer":"c","key":"k","message":{"type":"interactive"}}}"#.utf8)
        ).root
        let failure = #expect(throws: HandlerProtocolError.self) {
            try ReplyCall(try #require(params["params"]))
        }
        guard case .refused(let refusal)? = failure else {
            Issue.record("\(failure as Any)")
            return
        }
        #expect(refusal.problems.first?.pointer == "/message")
    }

    @Test func `the log's reason quotes no text of the answer`() throws {
        let result = try JSONDocument(
            Array(#"{"replies":[{"type":"greeting for Jane"}],"outcome":"done"}"#.utf8)
        ).root
        let refusal = try #require(#expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(result) })
        #expect(refusal.explanation.contains("Jane"))
        #expect(!refusal.reason.contains("Jane"))
        #expect(refusal.reason.contains("rule messageType at /replies/0/type ("))
        #expect(refusal.reason.hasSuffix("and 1 more"))
    }

    @Test func `a fallback survives writing and parsing, and never reaches Apple`() throws {
        let original = try context("text")
        let request = try QuickReplyRequest(
            summary: "Collect?",
            items: [.init("y", title: "Yes"), .init("n", title: "No")])
        let reply = Reply.quickReply(request).orText("Write yes or no.")
        let answer = try written { EventAnswer.write(.handled([reply]), to: original, &$0) }
        #expect(answer["replies"]?[0]?["fallback"]?.string == "Write yes or no.")
        guard case .handled(let replies) = try EventAnswer.outcome(answer), let read = replies.first else {
            Issue.record("not handled")
            return
        }
        #expect(read.fallback == "Write yes or no.")
        #expect(try read.showable(on: []) == .text("Write yes or no."))
        #expect(try read.showable(on: [.quickReply]) == read)
        let sent = read.encode(id: MessageID("m"), from: BusinessID("b"), to: CustomerID("c"))
        #expect(try JSONDocument(sent).root["fallback"] == nil)
        let without = Reply.quickReply(request)
        #expect(throws: UnsupportedMessage.self) { try without.showable(on: []) }
    }

    @Test(arguments: ["%", #"{"metadata":[%]}"#])
    func `a reply may be LivePerson's metadata of an iMessage app`(_ form: String) throws {
        let metadata = """
            {"type":"BusinessChatCustomMessage","bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:EQHXZ8M8AV:a.b",
            "URL":"?data=%7B%22lpData%22:%7B%22interactive%22:%7B%22response%22:%7B%22text%22:%22Parcel 7%22%7D%7D%7D%7D",
            "receivedMessage":{"title":"Where is it?"}}
            """
        let answer = #"{"replies":["# + form.replacing("%", with: metadata, maxReplacements: 1) + "]}"
        let outcome = try EventAnswer.outcome(JSONDocument(Array(answer.utf8)).root)
        guard case .handled(let replies) = outcome, let reply = replies.first else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reply.kind == .app)
        let sent = reply.encode(id: MessageID("m"), from: BusinessID("b"), to: CustomerID("c"))
        // The summary of the sent message, which transcripts show, is the text inside the URL.
        #expect(InboundEvent.decode(message: try JSONDocument(sent)).summary == "Parcel 7")
    }

    @Test(arguments: [
        (#""URL":"?a=1","receivedMessage":{"title":""}"#, "empty", "/receivedMessage/title"),
        (#""receivedMessage":{"title":"a"}"#, "required", "/URL"),
        (
            #""URL":"?a=1","receivedMessage":{"title":"a","imageURL":"https://example.com/a.png"}"#,
            "livePersonImage", "/receivedMessage/imageURL"
        ),
    ])
    func `LivePerson's metadata that is incomplete is refused`(
        _ members: String, _ rule: String, _ pointer: String
    ) throws {
        let start =
            #"{"replies":[{"type":"BusinessChatCustomMessage","bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:EQHXZ8M8AV:a.b","#
        let result = try JSONDocument(Array((start + members + "}]}").utf8)).root
        let refusal = #expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(result) }
        #expect(refusal?.problems.map(\.rule) == [rule])
        #expect(refusal?.problems.map(\.pointer) == ["/replies/0" + pointer])
    }

    @Test func `a customer's choice is a separate member of the event`() throws {
        let quick = try written { EventCall.write(try context("quickReply"), to: &$0) }
        #expect(quick["event"]?["selectedIdentifier"]?.string == "evening")
        let list = try written { EventCall.write(try context("listPicker"), to: &$0) }
        #expect(list["event"]?["selectedIdentifiers"]?.count == 3)
        let time = try written { EventCall.write(try context("timePicker"), to: &$0) }
        #expect(time["event"]?["selectedIdentifier"]?.string == "slot-2")
    }

    @Test(arguments: [
        (
            "text-tapback", "tapback",
            #"{"reaction":"loved","of":"Your bicycle is ready","removed":false}"#
        ),
        ("authentication-failure", "authentication", #"{"status":"failed","error":"400"}"#),
        (
            "authentication-classicFailed", "authentication",
            #"{"status":"failed","error":"com.apple.icloud.messages.business.cryptor 2"}"#
        ),
        ("applePay", "payment", #"{"state":"paid"}"#),
        ("invitation", "invitation", #"{"accepted":true,"referenceId":"campaign-7/12"}"#),
        ("close-declined", "invitation", #"{"accepted":false,"referenceId":"campaign-7/12"}"#),
    ])
    func `a kind's values are separate event members`(name: String, member: String, json: String) throws {
        let params = try written { EventCall.write(try context(name), to: &$0) }
        let found = params["event"]?[member].map { String(decoding: $0.text, as: UTF8.self) }
        #expect(found == json)
    }

    @Test func `an app's event has its URL`() throws {
        let params = try written { EventCall.write(try context("app"), to: &$0) }
        #expect(params["event"]?["app"]?["url"]?.string?.hasPrefix("?parcel=") == true)
    }

    @Test(arguments: UnrecognizedReason.allCases)
    func `an event says its time, its number, whether it is a replay, and why it is unrecognized`(
        _ reason: UnrecognizedReason
    ) throws {
        let original = try context("unrecognized")
        let entry = Conversation.Entry(
            seq: 7, at: "2026-07-10T17:00:00.000Z", direction: .inbound, kind: .unrecognized,
            id: original.event.id, message: original.event.message)
        let context = Context(
            event: original.event, conversation: Conversation(entries: [entry]),
            deliveryID: original.deliveryID, isReplay: true, receivedAt: "2026-07-10T17:00:00.000Z",
            unrecognizedReason: reason, deadline: original.deadline, logger: original.logger)
        let params = try written { EventCall.write(context, to: &$0) }
        let event = try #require(params["event"])
        #expect(event["seq"]?.int == 7)
        #expect(event["replay"]?.bool == true)
        #expect(event["receivedAt"]?.string == "2026-07-10T17:00:00.000Z")
        #expect(event["unrecognizedReason"]?.string == reason.rawValue)
        let read = try EventCall.context(params, logger: original.logger) { _ in [] }
        #expect(read.isReplay && read.receivedAt == context.receivedAt && read.unrecognizedReason == reason)
        let plain = try written { EventCall.write(original, to: &$0) }["event"]
        #expect(plain?["seq"] == nil && plain?["replay"] == nil && plain?["unrecognizedReason"] == nil)
    }

    @Test func `only the latest entries of a long conversation are included`() throws {
        let long = String(repeating: "x", count: 20_000)
        let params = try written {
            EventCall.write(try context("text", said: [long, long, "short"]), to: &$0)
        }
        #expect(params["history"]?.elements.map { $0["seq"]?.int } == [4, 5])
    }

    @Test(arguments: [
        ("{}", Outcome.handled), (#"{"outcome":"handled"}"#, .handled), ("null", .handled),
        (#"{"replies":["Hello"]}"#, .reply("Hello")),
        (#"{"outcome":"retry"}"#, .retry),
        (#"{"outcome":"retry","retryAfterMs":1500}"#, .retry(after: .milliseconds(1500))),
        (#"{"outcome":"reject","reason":"no"}"#, .reject(reason: "no")),
        (#"{"outcome":"handoff"}"#, .handoff(reason: "no reason given")),
        (
            #"{"outcome":"handoff","reason":"a","queue":"returns","priority":9,"note":"n"}"#,
            .handoff(reason: "a", queue: "returns", priority: 9, note: "n")
        ),
        (
            #"{"outcome":"handoff","reason":"asked","replies":["Soon."]}"#,
            .handoff(reason: "asked", replies: [.text("Soon.")])
        ),
    ])
    func `a valid answer is read as its outcome`(_ json: String, _ outcome: Outcome) throws {
        #expect(try EventAnswer.outcome(JSONDocument(Array(json.utf8)).root) == outcome)
    }

    @Test(arguments: [
        ("[]", "type", ""), (#"{"outcome":"maybe"}"#, "outcome", "/outcome"),
        (#"{"outcome":1}"#, "outcome", "/outcome"), (#"{"replies":"Hello"}"#, "type", "/replies"),
        (#"{"reply":"Hello"}"#, "unknownMember", "/reply"),
        (#"{"replies":["a",{"type":"close"}]}"#, "messageType", "/replies/1/type"),
        (#"{"replies":[""]}"#, "empty", "/replies/0"), (#"{"replies":[1]}"#, "type", "/replies/0"),
        (#"{"replies":[{"type":"text","body":"a","fallback":""}]}"#, "empty", "/replies/0/fallback"),
        (#"{"outcome":"retry","retryAfterMs":-1}"#, "type", "/retryAfterMs"),
        (#"{"queue":1}"#, "type", "/queue"), (#"{"priority":10}"#, "type", "/priority"),
        (#"{"note":[]}"#, "type", "/note"), (#"{"reason":1}"#, "type", "/reason"),
        (#"{"state":[]}"#, "type", "/state"),
        (#"{"replies":["# + String(repeating: #""a","#, count: 32) + #""a"]}"#, "replyCount", "/replies"),
    ])
    func `an unusable answer is refused with its rule and place`(
        _ json: String, _ rule: String, _ pointer: String
    ) throws {
        let result = try JSONDocument(Array(json.utf8)).root
        let refusal = #expect(throws: AnswerRefusal.self) { try EventAnswer.outcome(result) }
        #expect(refusal?.problems.map(\.rule) == [rule])
        #expect(refusal?.problems.map(\.pointer) == [pointer])
    }

    @Test func `outcomes of a Swift handler survive writing and parsing`() throws {
        let context = try context("text")
        for outcome in [
            Outcome.retry(after: .seconds(2)), .reject(reason: "a"), .handoff(reason: "b"), .handled,
            .handoff(reason: "b", queue: "returns", priority: 0, note: "n"),
        ] {
            let result = try written { EventAnswer.write(outcome, to: context, &$0) }
            #expect(try EventAnswer.outcome(result) == outcome)
        }
        let handoff = try written {
            EventAnswer.write(.handoff(reason: "b", replies: [.text("Soon.")]), to: context, &$0)
        }
        guard case .handoff("b", let told, nil, nil, nil) = try EventAnswer.outcome(handoff), told.count == 1
        else {
            Issue.record("no hand-off with one reply")
            return
        }
        let result = try written { EventAnswer.write(.reply("Good morning"), to: context, &$0) }
        guard case .handled(let replies) = try EventAnswer.outcome(result) else {
            Issue.record("not handled")
            return
        }
        let id = MessageID("m-1")
        let bytes = try #require(replies.first).encode(id: id, from: context.business, to: context.customer)
        let sent = try JSONDocument(bytes).root
        #expect(sent["body"]?.string == "Good morning")
        #expect(sent["id"]?.string == "m-1")
        #expect(sent["destinationId"]?.string == context.customer.rawValue)
    }
}

/// The JSON that `body` writes into an object, parsed.
func written(_ body: (inout JSONWriter) throws -> Void) throws -> JSONValue {
    var writer = JSONWriter()
    try writer.object(body)
    return try JSONDocument(writer.finish()).root
}

private func context(_ name: String, said: [String] = ["Hello"]) throws -> Context {
    let document = try JSONDocument(Fixture.bytes("messages/\(name).json"))
    var attributes = MessageAttributes.read(document: document)
    attributes.capabilities = [.quickReply, .form]
    let entries = try said.enumerated().map { index, text in
        let message = try written { $0.field("body", text) }
        return Conversation.Entry(
            seq: index + 3, at: "2026-07-10T17:00:00.000Z", direction: .inbound, kind: .text,
            id: MessageID("m-\(index)"), message: message)
    }
    var context = Context(
        event: .decode(message: document, attributes: attributes),
        conversation: Conversation(entries: entries), deliveryID: DeliveryID("42"), attempt: 2,
        deadline: .now + .seconds(30), logger: LogCollector().logger)
    context.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    return context
}
