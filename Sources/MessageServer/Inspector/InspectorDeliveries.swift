import BalloonHTTP
import BalloonPOSIX
package import HandlerKit
package import MessageStore

/// The simulated Apple beside an inspector: the messages that it posted, the requests that it got, and
/// replays.
package protocol InspectorSimulator: Sendable {
    /// Begins to use the running server; called once, before the first request.
    func open(_ store: Store)
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

    var routes: [InspectorRoute] {
        let reading = InspectorRoute(
            .get, Self.path, "Read a delivery with everything that is known about it",
            answer: InspectedDelivery.form.schema
        ) { .json(InspectedDelivery.form.json(await inspected(try await trace($0)))) }
        return [reading] + (simulator.map(changes) ?? [])
    }

    /// The operations that only a developer's server has: a replay runs programs, and writes to customers.
    private func changes(_ simulator: any InspectorSimulator) -> [InspectorRoute] {
        [
            InspectorRoute(
                .post, Self.path + "/replay", "Post the message again, or show it to another handler",
                body: .json(maximumBytes: 32 << 20, Self.replay),
                answer: .any(of: [.posts, InspectorTrials.schema])
            ) { request in
                let trace = try await trace(request)
                let object = try request.object()
                let message = Array((object["message"] ?? trace.event.message).text)
                guard let to = object["to"] else {
                    return .json(try await simulator.replay(message, of: trace.event.customer, as: object))
                }
                let handler = try simulator.handler(to, for: trace.event.business)
                let times = try object["times"]?.number(in: 1...100) ?? 1
                return .json(try await trials.run(handler, trace.event, message, times: times))
            },
            InspectorRoute(
                .post, "/dev/v1/trials/{trial}/send", "Send the replies that another handler gave",
                body: .json(maximumBytes: 4096, .options(["run": .integer(0...99)])),
                answer: .object(["sent": .list(.object(["id": .text, "outcome": .text]))])
            ) { request in
                let run = try request.object()["run"]?.number(in: 0...99) ?? 0
                return .json(try await trials.send(request.path("trial"), run: run))
            },
        ]
    }

    private static let replay = JSONSchema.options([
        "message": .anyObject, "times": .integer(1...100), "levers": .levers,
        "to": .options(["program": .text, "url": .text, "secret": .text]),
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

    private func inspected(_ trace: Store.Trace) async -> InspectedDelivery {
        let event = trace.event
        let stages = events.stages(of: event.record, event.id)
        let handler = registry[event.business]?.life?.handler as? any EventHandler
        let log = await handler?.report.lines ?? []
        return InspectedDelivery(
            event: event, headers: simulator?.postedHeaders(of: event.id), stages: stages,
            attempts: InspectedDelivery.attempts(stages, attempts.calls(of: event.record, log)),
            log: log.suffix(100).map(\.text),
            replies: trace.replies.map { ($0, simulator?.exchanges(about: $0.messageID) ?? []) })
    }
}

/// A delivery as the page shows it.
private struct InspectedDelivery: Sendable {
    /// An attempt that a stage shows, or one that has not ended yet, with the calls of the handler and of the fallback.
    struct Attempt: Sendable {
        let number: Int
        let stage: JSONValue?
        let calls: [InspectorAttempts.Attempt]
    }

    let event: JournalEvent
    let headers: [(name: String, value: String)]?
    let stages: [[UInt8]]
    let attempts: [Attempt]
    let log: [String]
    let replies: [(reply: JournalReply, exchanges: [[UInt8]])]

    static let form = JSONObjectForm<InspectedDelivery>(written: [
        JSONField("record", .integer) { Int($0.event.record) },
        JSONField("message", .value(.anyObject)) { $0.event.message },
        JSONField("headers", optional: JSONForm(.anyObject) { $1.write($0) }) { $0.headers },
        JSONField("event", JSONForm(event.form, schema: .anyObject, { $0 }, { $0 })) { $0.event },
        JSONField("stages", .list(.object)) { $0.stages },
        JSONField("attempts", .list(attempt.form(isClosed: false))) { $0.attempts },
        JSONField("log", .list(.text)) { $0.log },
        JSONField("replies", .list(reply.form(isClosed: false))) { $0.replies },
        JSONField("problems", optional: .value(.list(.anyObject))) { $0.event.problems },
        JSONField("curl", .text) { curl($0.headers ?? [], $0.event) },
        JSONField("fixture", .written(.anyObject)) { ["message": $0.event.message] as JSONObject },
    ]).form(isClosed: false)

    private static let event = JSONObjectForm<JournalEvent>(written: [
        JSONField("id", .message) { $0.id }, JSONField("at", .time) { $0.at },
        JSONField("business", .business) { $0.business }, JSONField("customer", .customer) { $0.customer },
        JSONField("kind", optional: .word) { $0.kind }, JSONField("status", .word) { $0.status },
        JSONField("reason", optional: .text) { $0.reason },
        JSONField("attempts", .integer) { $0.attempts },
        JSONField("summary", optional: .text) { event in
            // The journal contains only validated JSON, so parsing it cannot fail.
            let document = try? JSONDocument(Array(event.message.text), limits: .stored)
            return document.map { InboundEvent.decode(message: $0).summary }
        },
    ])

    private static let attempt = JSONObjectForm<Attempt>(written: [
        JSONField("number", .integer) { $0.number },
        JSONField("at", optional: .value(.time)) { $0.stage?["at"] },
        JSONField("ms", optional: .value(.number)) { $0.stage?["ms"] },
        JSONField("result", .text) { $0.stage?["result"]?.string ?? "running" },
        JSONField("reason", optional: .value(.text)) { $0.stage?["reason"] },
        JSONField("state", optional: state.form(isClosed: false)) { $0.calls.isEmpty ? nil : $0.calls },
        JSONField("stderr", optional: .list(.text)) { attempt in
            attempt.calls.isEmpty ? nil : attempt.calls.flatMap(\.lines).map(\.text)
        },
    ])

    /// The state before and after the calls; `null` for none.
    private static let state = JSONObjectForm<[InspectorAttempts.Attempt]>(written: [
        JSONField("before", .objectOrNull) { $0.first?.before },
        JSONField("after", .objectOrNull) { $0.last?.after },
    ])

    private static let reply = JSONObjectForm<(reply: JournalReply, exchanges: [[UInt8]])>(written: [
        JSONField("id", .message) { $0.reply.messageID }, JSONField("reply", .reply) { $0.reply.id },
        JSONField("kind", .word) { $0.reply.kind }, JSONField("status", .word) { $0.reply.status },
        JSONField("reason", optional: .text) { $0.reply.reason },
        JSONField("attempts", .integer) { $0.reply.attempts },
        JSONField("message", .object) { $0.reply.message },
        JSONField("gateway", .list(.object)) { $0.exchanges },
    ])

    /// The attempts that the stages show, and the last one when it has no stage because it has not ended yet.
    static func attempts(_ stages: [[UInt8]], _ calls: [InspectorAttempts.Attempt]) -> [Attempt] {
        var calls = calls[...]
        var attempts: [Attempt] = []
        for json in stages {
            // The inspector wrote this JSON, so parsing it cannot fail.
            guard let stage = (try? JSONDocument(json))?.root, stage["stage"]?.string == "handle" else {
                continue
            }
            let number = stage["attempt"]?.int ?? 1
            let own = calls.prefix { $0.number <= number }
            calls = calls.dropFirst(own.count)
            attempts.append(Attempt(number: number, stage: stage, calls: Array(own)))
        }
        if let call = calls.last, call.ended == nil {
            attempts.append(Attempt(number: call.number, stage: nil, calls: [call]))
        }
        return attempts
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
        // The shell replaces the variable of the token.
        let fields =
            (kept + [("id", event.id.rawValue)]).map { ($0.name, $0.value.escapedForDoubleQuotes) }
            + [("authorization", authorization)]
        let options = fields.map { " \\\n  -H \"\($0): \($1)\"" }.joined()
        let body = String(decoding: event.message.text, as: UTF8.self).escapedForSingleQuotes
        return "curl \"\(url)/message\"" + options + " \\\n  --data-binary '\(body)'"
    }
}

// A shell reads a sign also before a mark that joins it in a character, so scalars are escaped.
extension String {
    /// The text for double quotes of a shell.
    var escapedForDoubleQuotes: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            if "\"$`\\".unicodeScalars.contains(scalar) { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
    }

    /// The text for single quotes of a shell.
    var escapedForSingleQuotes: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "'" { result += "'\\'" }
            result.unicodeScalars.append(scalar)
        }
    }
}

extension JSONWriter {
    /// Writes header fields as an object.
    package mutating func write(_ headers: [(name: String, value: String)]) {
        object { writer in for (name, value) in headers { writer.field(name, value) } }
    }
}

extension JSONForm<[UInt8]?> {
    /// An object that is kept as it is, or `null`.
    static let objectOrNull = JSONForm(
        #"{"type":["object","null"]}"#, write: { $1.raw($0 ?? Array("null".utf8)) })
}
