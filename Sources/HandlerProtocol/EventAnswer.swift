package import HandlerKit

/// The answer to an event.
///
/// ```json
/// {"outcome": "handled", "replies": ["Good morning!", {"type": "interactive", "interactiveData": {…}}],
///  "state": {"step": "colour"}}
/// {"outcome": "retry", "retryAfterMs": 5000}
/// {"outcome": "reject", "reason": "…"}
/// {"outcome": "handoff", "reason": "…", "replies": ["A colleague answers in a few minutes."],
///  "queue": "returns", "priority": 5, "note": "Order 4711"}
/// ```
/// A missing `outcome` means `handled`. A reply is a text, or a message in Apple's format, in which the
/// server fills in `id`, `v`, `sourceId` and `destinationId`. `state` replaces the handler's state of the
/// conversation, `null` deletes it; when it is missing the state does not change. Other members are refused.
package enum EventAnswer {
    private static let members = [
        "outcome", "replies", "retryAfterMs", "reason", "state", "queue", "priority", "note",
    ]
    private static let outcomes = ["handled", "retry", "reject", "handoff"]

    /// Parses the result of an event, and applies its member `state` to the handler's state.
    ///
    /// With `allowingFiles` a text may name files of this machine: `"attachments": [{"path": "/…", "name":
    /// "…", "mimeType": "…"}]`. Use it only for handlers that can read the server's files anyway. A single
    /// `AnswerRefusal` lists all problems of the result.
    package static func outcome(
        _ result: JSONValue, changing state: ConversationState = ConversationState(),
        allowingFiles: Bool = false
    ) throws(AnswerRefusal) -> Outcome {
        if result.isNull { return .handled }
        var reading = AnswerReading(result)
        reading.check(result, as: members)
        let replies = reading.replies(result["replies"], allowingFiles)
        let delay = reading.delay(result["retryAfterMs"])
        let reason = reading.reason(result["reason"])
        let (queue, note) = (reading.text(result["queue"]), reading.text(result["note"]))
        let priority = reading.priority(result["priority"])
        let newState = reading.state(result["state"])
        let outcome = result["outcome"]
        let name = outcome.map { outcome in outcomes.first(where: outcome.equals) } ?? "handled"
        if name == nil, let outcome {
            reading.report("outcome", at: outcome, allowed: outcomes.joined(separator: " "))
        }
        guard reading.problems.isEmpty else { throw AnswerRefusal(reading.problems) }
        if let newState {
            if newState.isNull { state.clear() } else { state.replace(with: newState) }
        }
        return switch name {
        case "retry": .retry(after: delay)
        case "reject": .reject(reason: reason)
        case "handoff":
            .handoff(reason: reason, replies: replies, queue: queue, priority: priority, note: note)
        default: .handled(replies)
        }
    }

    /// Reads the message of `reply`: a text, or a message in Apple's format.
    static func reply(_ value: JSONValue, in params: JSONValue) throws(AnswerRefusal) -> Reply {
        var reading = AnswerReading(params)
        guard let reply = reading.reply(value, false) else { throw AnswerRefusal(reading.problems) }
        return reply
    }

    /// Writes the members of an outcome; the server replaces ids and addresses in the replies.
    package static func write(_ outcome: Outcome, to context: Context, _ writer: inout JSONWriter) {
        if let state = context.state.change {
            writer.raw("state", state)
        }
        switch outcome {
        case .handled(let replies):
            writer.field("outcome", "handled")
            write(replies, of: context, &writer)
        case .retry(let delay):
            writer.fields(["outcome": "retry", "retryAfterMs": delay?.milliseconds])
        case .reject(let reason):
            writer.fields(["outcome": "reject", "reason": reason])
        case .handoff(let reason, let replies, let queue, let priority, let note):
            writer.fields([
                "outcome": "handoff", "reason": reason, "queue": queue, "priority": priority, "note": note,
            ])
            if !replies.isEmpty { write(replies, of: context, &writer) }
        }
    }

    private static func write(_ replies: [Reply], of context: Context, _ writer: inout JSONWriter) {
        writer.array("replies") { writer in
            for reply in replies {
                writer.raw(reply.encodeForServer(from: context.business, to: context.customer))
            }
        }
    }
}
