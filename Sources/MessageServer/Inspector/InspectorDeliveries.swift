import BalloonHTTP
package import BalloonJSON
import BalloonPOSIX
package import BusinessMessages
package import HandlerKit
import MessageStore

/// The simulated Apple beside an inspector: the messages that it posted, the requests that it got, and
/// replays.
package protocol InspectorSimulator: Sendable {
    /// Begins to use the running server; called once, before the first request.
    func open(_ server: InspectedServer)
    /// The header fields of the webhook's request with this message; nil when the simulator did not post it.
    func postedHeaders(of message: MessageID) -> [(name: String, value: String)]?
    /// The requests to the gateway about a message, each a JSON object.
    func exchanges(about message: MessageID) -> [[UInt8]]
    /// Creates, but does not start, the handler that `to` names: `{"program": "./bot.py"}`, or `{"url": …, "secret": …}`.
    func handler(_ to: JSONValue, for business: BusinessID) throws -> any Handler
    /// Posts a message again, as the body of the request says; returns a JSON object.
    func replay(_ message: [UInt8], of customer: CustomerID, as request: JSONValue) async throws -> [UInt8]
}

/// One delivery with everything that is known about it: `/dev/v1/deliveries/{record}`.
struct InspectorDeliveries: Sendable {
    let store: Store
    let registry: HandlerRegistry
    let events: InspectorEvents
    let attempts: InspectorAttempts
    let simulator: (any InspectorSimulator)?
    let trials: InspectorTrials

    private static let path = "/dev/v1/deliveries/{record}"
    private static let maximumBytes = 32 << 20

    var routes: [InspectorRoute] {
        let reading = InspectorRoute(.get, Self.path) { request in
            .json(try await json(of: try await trace(request)))
        }.describing("Read a delivery with everything that is known about it", answer: Self.schema)
        return [reading] + (simulator.map(changes) ?? [])
    }

    /// The operations that only a developer's server has: a replay runs programs, and writes to customers.
    private func changes(_ simulator: any InspectorSimulator) -> [InspectorRoute] {
        [
            InspectorRoute(.post, Self.path + "/replay", body: .json(maximumBytes: Self.maximumBytes)) {
                request in
                let trace = try await trace(request)
                let object = try request.object()
                let message = Array((object["message"] ?? trace.event.message).text)
                guard let to = object["to"] else {
                    return .json(try await simulator.replay(message, of: trace.event.customer, as: object))
                }
                let handler = try simulator.handler(to, for: trace.event.business)
                let times = try object["times"]?.number(in: 1...100) ?? 1
                return .json(try await trials.run(handler, trace.event, message, times: times))
            }.describing(
                "Post the message again, or show it to another handler",
                body: JSONSchema.object([:], optional: Self.replayMembers),
                answer: .any(of: [.posts, Self.trialSchema])),
            InspectorRoute(.post, "/dev/v1/trials/{trial}/send", body: .json(maximumBytes: 4096)) { request in
                let run = try request.object()["run"]?.number(in: 0...99) ?? 0
                return .json(try await trials.send(request.path("trial"), run: run))
            }.describing(
                "Send the replies that another handler gave",
                body: JSONSchema.object([:], optional: ["run": JSONSchema.integer(0...99)]),
                answer: JSONSchema.object([
                    "sent": JSONSchema.list(
                        JSONSchema.object(["id": JSONSchema.text, "outcome": JSONSchema.text]))
                ])),
        ]
    }

    private static let replayMembers: KeyValuePairs = [
        "message": JSONSchema.anyObject, "times": JSONSchema.integer(1...100),
        "levers": JSONSchema.levers,
        "to": JSONSchema.object(
            [:],
            optional: [
                "program": JSONSchema.text, "url": JSONSchema.text, "secret": JSONSchema.text,
            ]),
    ]
    private static let trialSchema = JSONSchema.object([
        "trial": JSONSchema.text,
        "runs": JSONSchema.list(
            JSONSchema.object(
                ["outcome": JSONSchema.text, "ms": JSONSchema.number],
                optional: [
                    "reason": JSONSchema.text,
                    "replies": JSONSchema.list(JSONSchema.anyObject),
                    "state": #"{"type":["object","null"]}"#,
                    "problems": JSONSchema.list(JSONSchema.anyObject),
                    "stderr": JSONSchema.list(JSONSchema.text),
                ])),
    ])
    private static let attemptSchema = JSONSchema.object(
        ["number": JSONSchema.count, "result": JSONSchema.text],
        optional: [
            "at": JSONSchema.time, "ms": JSONSchema.number, "reason": JSONSchema.text,
            "state": JSONSchema.object([
                "before": #"{"type":["object","null"]}"#, "after": #"{"type":["object","null"]}"#,
            ]),
            "stderr": JSONSchema.list(JSONSchema.text),
        ])
    private static let replySchema = JSONSchema.object(
        [
            "id": JSONSchema.text, "reply": JSONSchema.text, "kind": JSONSchema.text,
            "status": JSONSchema.text, "attempts": JSONSchema.count,
            "message": JSONSchema.anyObject, "gateway": JSONSchema.list(JSONSchema.anyObject),
        ], optional: ["reason": JSONSchema.text])
    private static let schema = JSONSchema.object(
        [
            "record": JSONSchema.count, "message": JSONSchema.anyObject,
            "event": JSONSchema.anyObject, "stages": JSONSchema.list(JSONSchema.anyObject),
            "attempts": JSONSchema.list(attemptSchema),
            "log": JSONSchema.list(JSONSchema.text),
            "replies": JSONSchema.list(replySchema), "curl": JSONSchema.text,
            "fixture": JSONSchema.anyObject,
        ],
        optional: [
            "headers": JSONSchema.anyObject, "problems": JSONSchema.list(JSONSchema.anyObject),
        ])

    /// Returns the delivery that a request names, of any business.
    private func trace(_ request: InspectorRequest) async throws -> Store.Trace {
        let number = UInt64(request.path("record"))
        guard let number, number <= (1 << 53) - 1 else {
            throw InspectorProblem(.badRequest, "a record is a number")
        }
        for business in registry.all {
            switch try await store.delivery(number, of: business.business) {
            case .unknown: continue
            case .unread: throw InspectorProblem(.serviceUnavailable, "the journal is being read; repeat")
            case .found(let trace): return trace
            }
        }
        throw InspectorProblem(.notFound, "the journal has no such delivery")
    }

    private func json(of trace: Store.Trace) async throws -> [UInt8] {
        let event = trace.event
        let headers = simulator?.postedHeaders(of: event.id)
        let stages = events.stages(of: event.record, event.id)
        let log = await handlerLog(of: event.business)
        let calls = attempts.calls(of: event.record, log)
        return JSONWriter.object(reservingCapacity: 16_384) { writer in
            writer.field("record", Int(event.record))
            writer.field("message", event.message)
            if let headers {
                writer.key("headers")
                writer.write(headers)
            }
            writer.key("event")
            Self.write(event, to: &writer)
            writer.list("stages", stages) { stage, writer in writer.raw(stage) }
            writer.array("attempts") { writer in Self.writeAttempts(stages, calls, to: &writer) }
            writer.list("log", log.suffix(100).map(\.text))
            writer.list("replies", trace.replies) { reply, writer in write(reply, to: &writer) }
            if let problems = event.problems { writer.field("problems", problems) }
            writer.field("curl", Self.curl(headers ?? [], event))
            writer.object("fixture") { writer in writer.field("message", event.message) }
        }
    }

    private static func write(_ event: JournalEvent, to writer: inout JSONWriter) {
        // The journal contains only validated JSON, so parsing it cannot fail.
        let document = try? JSONDocument(Array(event.message.text), limits: .stored)
        writer.object { writer in
            writer.field("id", event.id.rawValue)
            writer.field("at", event.at.rfc3339)
            writer.field("business", event.business.rawValue)
            writer.field("customer", event.customer.rawValue)
            writer.field("kind", event.kind?.rawValue)
            writer.field("status", event.status.rawValue)
            writer.field("reason", event.reason)
            writer.field("attempts", event.attempts)
            writer.field("summary", document.map { InboundEvent.decode(message: $0).summary })
        }
    }

    /// Writes the attempts that the stages show, each with its calls of the handler and of the fallback.
    private static func writeAttempts(
        _ stages: [[UInt8]], _ calls: [InspectorAttempts.Attempt], to writer: inout JSONWriter
    ) {
        var calls = calls[...]
        for json in stages {
            // The inspector wrote this JSON, so parsing it cannot fail.
            guard let stage = (try? JSONDocument(json))?.root, stage["stage"]?.string == "handle" else {
                continue
            }
            let number = stage["attempt"]?.int ?? 1
            let own = calls.prefix { $0.number <= number }
            calls = calls.dropFirst(own.count)
            writer.object { writer in
                writer.field("number", number)
                for name in ["at", "ms", "result", "reason"] { writer.field(name, stage[name]) }
                write(Array(own), to: &writer)
            }
        }
        // A call that has not ended yet has no stage.
        guard let call = calls.last, call.ended == nil else { return }
        writer.object { writer in
            writer.field("number", call.number)
            writer.field("result", "running")
            write([call], to: &writer)
        }
    }

    /// Writes the state before and after, `null` for none, and the log lines.
    private static func write(_ calls: [InspectorAttempts.Attempt], to writer: inout JSONWriter) {
        guard let first = calls.first, let last = calls.last else { return }
        writer.object("state") { writer in
            writer.raw("before", first.before ?? Array("null".utf8))
            writer.raw("after", last.after ?? Array("null".utf8))
        }
        writer.list("stderr", calls.flatMap(\.lines).map(\.text))
    }

    private func write(_ reply: JournalReply, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("id", reply.messageID.rawValue)
            writer.field("reply", "\(reply.id)")
            writer.field("kind", reply.kind.rawValue)
            writer.field("status", reply.status.rawValue)
            writer.field("reason", reply.reason)
            writer.field("attempts", reply.attempts)
            writer.raw("message", reply.message)
            writer.list("gateway", simulator?.exchanges(about: reply.messageID) ?? []) { exchange, writer in
                writer.raw(exchange)
            }
        }
    }

    /// The newest lines of the handler's log.
    private func handlerLog(of business: BusinessID) async -> [HandlerLogLine] {
        guard let life = registry[business]?.life else { return [] }
        guard let handler = life.handler as? any EventHandler else { return [] }
        return await handler.report.lines
    }

    private static let url =
        "${BALLOON_URL:?set it to the address of the server, the member server of dev.json}"
    private static let authorization = "Bearer ${TOKEN:-$(balloon token sign)}"

    /// Returns a command that posts the message again.
    ///
    /// Without its variables it names how to get the address, and signs a token where `balloon dev` runs.
    private static func curl(_ headers: [(name: String, value: String)], _ event: JournalEvent) -> String {
        let kept = headers.filter {
            !["content-encoding", "authorization", "id"].contains($0.name.lowercased())
        }
        let fields = kept + [("id", event.id.rawValue), ("authorization", authorization)]
        let options = fields.map { " \\\n  -H \"\($0.name): \(quoted($0.value))\"" }.joined()
        let body = String(decoding: event.message.text, as: UTF8.self).replacing("'", with: "'\\''")
        return "curl \"\(url)/message\"" + options + " \\\n  --data-binary '\(body)'"
    }

    /// Escapes a text for double quotes of a shell, except the variable of the token.
    private static func quoted(_ text: String) -> String {
        if text == authorization { return text }
        return text.map { "\"$`\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    }
}

extension JSONWriter {
    /// Writes header fields as an object.
    package mutating func write(_ headers: [(name: String, value: String)]) {
        object { writer in for (name, value) in headers { writer.field(name, value) } }
    }
}
