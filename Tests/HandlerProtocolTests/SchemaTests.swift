import BalloonJSON
import HandlerKit
import HandlerProtocol
import TestSupport
import Testing

/// `config/schemas/handler.schema.json` describes the lines that the code writes and reads.
@Suite(.enabled(if: SchemaValidator.isInstalled, "\(SchemaValidator.absence)"))
struct SchemaTests {
    private func expected(_ name: String, _ line: [UInt8]) -> String {
        "=\(name)\t" + String(decoding: line.dropLast(), as: UTF8.self)
    }

    @Test func `the schema describes every line that the server writes`() async throws {
        let initialization = Initialization(
            business: BusinessID("b"), slug: "demo", configuration: nil, maximumInFlight: 16,
            deadline: .seconds(30))
        var lines = [
            expected(
                "initialize",
                RPCLine.request(id: 1, method: Method.initialize) { initialization.write(to: &$0) }),
            expected("ping", RPCLine.request(id: 2, method: Method.ping)),
            expected("shutdown", RPCLine.request(id: 3, method: Method.shutdown)),
            expected(
                "cancel", RPCLine.notification(method: Method.cancel) { $0.field("deliveryId", "1") }),
            expected(
                "replyResult",
                RPCLine.result(id: try JSONDocument(Array(#""r1""#.utf8)).root) { $0.field("messageId", "m") }
            ),
            expected(
                "withdrawPaymentResult",
                RPCLine.result(id: try JSONDocument(Array(#""r1""#.utf8)).root) {
                    $0.field("withdrawn", true)
                }
            ),
            expected(
                "refusal",
                RPCLine.failure(
                    id: try JSONDocument([0x31]).root,
                    RPCFailure(code: RPCFailure.Code.busy, message: "busy", retryAfter: .seconds(1)))),
            expected(
                "refusal", RPCLine.failure(id: try JSONDocument([0x31]).root, RPCFailure(Self.refusal))),
        ]
        for kind in Kind.allCases {
            for path in [nil, "/there"] {
                let context = try context(kind)
                lines.append(
                    expected(
                        "event",
                        RPCLine.request(id: 4, method: Method.event) {
                            EventCall.write(context, messagePath: path, to: &$0)
                        }))
            }
        }
        let request = try RetentionTests.request()
        let question = RetentionContext(app: "shop", deadline: .now, logger: LogCollector().logger)
        lines.append(
            expected(
                "retention",
                RPCLine.request(id: 4, method: Method.retention) {
                    RetentionCall.write(request, question, to: &$0)
                }))
        let failures = [
            ReplyFailure(
                reply: MessageID("r"), inReplyTo: MessageID("m"), kind: .text, status: .refused,
                httpStatus: 400,
                reason: "Bad Request"),
            ReplyFailure(
                reply: MessageID("r"), inReplyTo: nil, kind: .form, status: .expired, reason: "", attempts: 7),
        ]
        for failure in failures {
            let context = Context(
                event: .decode(message: try JSONDocument(failure.json)), replyFailure: failure,
                deliveryID: DeliveryID("1"), deadline: .now, logger: LogCollector().logger)
            lines.append(
                expected(
                    "event",
                    RPCLine.request(id: 4, method: Method.event) { EventCall.write(context, to: &$0) }))
        }
        let found = try await SchemaValidator.differences("handler", lines)
        #expect(found == [])
    }

    private static let refusal = AnswerRefusal([
        .init(
            rule: "empty", pointer: "/message", found: "an empty text", allowed: "a text",
            passage: "somewhere")
    ])

    private static let introductions = [
        #"{"protocolVersion":"1","events":["text","replyFailed"]}"#,
        #"{"protocolVersion":"1","events":["retention"]}"#,
        #"{"protocolVersion":"1","events":"*"}"#,
        #"{"protocolVersion":"1","events":[],"payments":["paymentGateway","orderTracking"]}"#,
        #"{"protocolVersion":"1","events":[],"payments":null}"#,
        #"{"protocolVersion":"1","events":[],"payments":["reversal"]}"#,
        #"{"protocolVersion":"1","events":[],"payments":"paymentGateway"}"#,
        #"{"protocolVersion":"1","handler":{"name":"a"},"events":["text"],"maxInFlight":4}"#,
        #"{"protocolVersion":"2","events":"*"}"#, #"{"events":"*"}"#, #"{"protocolVersion":"1"}"#,
        #"{"protocolVersion":1,"events":"*"}"#, #"{"protocolVersion":"1","events":["speech"]}"#,
        #"{"protocolVersion":"1","events":"text"}"#, #"{"protocolVersion":"1","events":[1]}"#,
        #"{"protocolVersion":"1","events":null}"#, #"{"protocolVersion":"1","events":[],"maxInFlight":0}"#,
        #"{"protocolVersion":"1","events":[],"maxInFlight":1.5}"#,
        #"{"protocolVersion":"1","events":[],"maxInFlight":"4"}"#,
        #"{"protocolVersion":"1","events":[],"maxInFlight":null}"#,
    ]

    private static let answers = [
        "{}", #"{"outcome":"handled"}"#, #"{"replies":["Hi"]}"#, #"{"replies":[]}"#, #"{"replies":null}"#,
        #"{"replies":[{"type":"text","body":"Hi"},"Hi"],"state":{"a":[1]}}"#, #"{"state":null}"#,
        #"{"outcome":"retry"}"#, #"{"outcome":"retry","retryAfterMs":0}"#,
        #"{"outcome":"retry","retryAfterMs":null}"#, #"{"outcome":"reject","reason":"no"}"#,
        #"{"outcome":"handoff","state":{}}"#, #"{"outcome":"handoff","replies":["Soon."]}"#,
        #"{"unknown":1}"#, #"{"reason":null}"#, #"{"reason":1}"#, "[]",
        #""handled""#, #"{"outcome":"maybe"}"#,
        #"{"outcome":null}"#, #"{"outcome":1}"#, #"{"replies":"Hi"}"#, #"{"replies":[""]}"#,
        #"{"replies":[1]}"#, #"{"replies":{}}"#, #"{"outcome":"retry","retryAfterMs":-1}"#,
        #"{"outcome":"retry","retryAfterMs":"1"}"#, #"{"outcome":"retry","retryAfterMs":1.5}"#,
        #"{"state":1}"#, #"{"state":[]}"#, #"{"outcome":"reject","state":"a"}"#,
        #"{"replies":["# + String(repeating: #""a","#, count: 31) + #""a"]}"#,
        #"{"replies":["# + String(repeating: #""a","#, count: 32) + #""a"]}"#,
    ]

    private static let replies = [
        #"{"customer":"c","key":"k","message":"Hi"}"#,
        #"{"customer":"c","key":"k","message":{"type":"text","body":"Hi"}}"#, #"{"key":"k","message":"Hi"}"#,
        #"{"customer":"c","message":"Hi"}"#, #"{"customer":"c","key":"k"}"#,
        #"{"customer":1,"key":"k","message":"Hi"}"#, #"{"customer":"c","key":1,"message":"Hi"}"#,
        #"{"customer":"c","key":"k","message":""}"#, #"{"customer":"c","key":"k","message":["Hi"]}"#,
    ]

    @Test func `the code reads every line that the schema allows a handler`() async throws {
        func isTaken(_ json: String, _ read: (JSONValue) throws -> Void) throws -> Bool {
            let value = try JSONDocument(Array(json.utf8)).root
            do {
                try read(value)
                return true
            } catch {
                return false
            }
        }
        var lines: [String] = []
        var taken = 0
        func add(_ name: String, _ json: String, _ line: String, _ read: (JSONValue) throws -> Void) throws {
            let isTaken = try isTaken(json, read)
            taken += isTaken ? 1 : 0
            // A line that is not an introduction may be a valid answer to another call.
            lines.append((isTaken ? "=\(name)\t" : "~\(name == "introduction" ? "answer" : "none")\t") + line)
        }
        for json in Self.introductions {
            try add("introduction", json, #"{"jsonrpc":"2.0","id":1,"result":\#(json)}"#) {
                _ = try Introduction($0)
            }
        }
        for json in Self.answers {
            try add("answer", json, #"{"jsonrpc":"2.0","id":1,"result":\#(json)}"#) {
                _ = try EventAnswer.outcome($0, changing: ConversationState())
            }
        }
        for json in RetentionTests.choices.map(\.json) + RetentionTests.refused {
            try add("retentionAnswer", json, #"{"jsonrpc":"2.0","id":1,"result":\#(json)}"#) {
                _ = try RetentionCall.choice($0)
            }
        }
        for json in Self.replies {
            try add("reply", json, #"{"jsonrpc":"2.0","id":"r","method":"reply","params":\#(json)}"#) {
                _ = try ReplyCall($0)
            }
        }
        #expect(taken == 27)
        let found = try await SchemaValidator.differences("handler", lines)
        #expect(found == [])
    }

    @Test func `the schema describes every line that a handler in Swift writes`() async throws {
        let id = try JSONDocument([0x31]).root
        let introduction = Introduction(
            name: "a", version: "2", events: [.kind(.text), .replyFailed],
            payments: [.paymentGateway, .orderTracking], maximumInFlight: 4)
        let context = try context(.text)
        var lines = [expected("introduction", RPCLine.result(id: id) { introduction.write(to: &$0) })]
        context.state["step"] = "one"
        for outcome in [
            Outcome.handled, .reply("Hi"), .retry, .retry(after: .seconds(1)), .reject(reason: "a"),
            .handoff(reason: "b"), .handoff(reason: "b", replies: [.text("Soon.")]),
            .handoff(reason: "b", queue: "returns", priority: 9, note: "n"),
        ] {
            lines.append(
                expected("answer", RPCLine.result(id: id) { EventAnswer.write(outcome, to: context, &$0) }))
        }
        for (choice, _) in RetentionTests.choices {
            lines.append(
                expected("retentionAnswer", RPCLine.result(id: id, raw: RetentionCall.json(choice))))
        }
        let call = ReplyCall(customer: CustomerID("c"), key: "k", message: .text("Hi"))
        lines.append(
            expected(
                "reply",
                RPCLine.request(id: 7, method: Method.reply) { call.write(from: BusinessID("b"), to: &$0) }))
        lines.append(
            expected(
                "withdrawPayment",
                RPCLine.request(id: 8, method: Method.withdrawPayment) { $0.field("requestIdentifier", "r") })
        )
        let found = try await SchemaValidator.differences("handler", lines)
        #expect(found == [])
        let read = try ReplyCall(try written { call.write(from: BusinessID("b"), to: &$0) })
        #expect(read.customer == call.customer)
        #expect(read.key == call.key)
    }

    private func context(_ kind: Kind) throws -> Context {
        let document = try JSONDocument(Fixture.bytes("messages/\(kind.rawValue).json"))
        let entry = Conversation.Entry(
            seq: nil, at: "2026-07-10T17:00:00.000Z", direction: .outbound, kind: .text, id: MessageID("m"),
            outcome: "queued", message: document.root)
        var context = Context(
            event: .decode(message: document, attributes: MessageAttributes.read(document: document)),
            conversation: Conversation(entries: [entry], lastContact: "2026-07-10T17:00:00.000Z"),
            state: ConversationState(try JSONDocument(Array(#"{"a":1}"#.utf8)).root),
            deliveryID: DeliveryID("1"), attempt: 2, isAfterGap: true, afterPerson: 7,
            deadline: .now + .seconds(30),
            logger: LogCollector().logger)
        context.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        return context
    }
}
