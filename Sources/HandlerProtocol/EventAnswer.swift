package import BalloonJSON
package import HandlerKit

/// The answer to an event.
///
/// ```json
/// {"outcome": "handled", "replies": ["Good morning!", {"type": "interactive", "interactiveData": {…}}],
///  "state": {"step": "colour"}}
/// {"outcome": "retry", "retryAfterMs": 5000}
/// {"outcome": "reject", "reason": "…"}
/// {"outcome": "handoff", "reason": "…"}
/// ```
/// A missing `outcome` means `handled`. A reply is a text, or a message in Apple's format, in which the
/// server fills in `id`, `v`, `sourceId` and `destinationId`. `state` replaces the handler's state of the
/// conversation, `null` deletes it; when it is missing the state does not change.
package enum EventAnswer {
    /// Parses the `result` of `event`.
    ///
    /// With `allowingFiles` a text may name files of this machine: `"attachments": [{"path": "/…", "name":
    /// "…", "mimeType": "…"}]`. Use it only for handlers that may read those files anyway.
    package static func outcome(
        _ result: JSONValue, allowingFiles: Bool = false
    ) throws(HandlerProtocolError) -> Outcome {
        guard result.kind == .object || result.isNull else { throw .malformed("result") }
        switch result["outcome"]?.string ?? (result["outcome"] == nil ? "handled" : "") {
        case "handled": return .handled(try replies(result["replies"], allowingFiles))
        case "retry": return .retry(after: try delay(result["retryAfterMs"]))
        case "reject": return .reject(reason: reason(result))
        case "handoff": return .handoff(reason: reason(result))
        default: throw .malformed("outcome")
        }
    }

    /// Parses the result and applies its `state`.
    package static func outcome(
        _ result: JSONValue, changing state: ConversationState, allowingFiles: Bool = false
    ) throws(HandlerProtocolError) -> Outcome {
        let outcome = try outcome(result, allowingFiles: allowingFiles)
        switch result["state"] {
        case nil: break
        case .some(let value) where value.isNull: state.clear()
        case .some(let value):
            guard value.kind == .object else { throw .malformed("state") }
            guard value.text.count <= ConversationState.maximumBytes else { throw .stateTooLarge }
            state.replace(with: value)
        }
        return outcome
    }

    private static func replies(
        _ value: JSONValue?, _ allowingFiles: Bool
    ) throws(HandlerProtocolError) -> [Reply] {
        guard let value, !value.isNull else { return [] }
        guard value.kind == .array else { throw .malformed("replies") }
        guard value.count <= ProtocolVersion.maximumReplies else { throw .tooManyReplies }
        var replies: [Reply] = []
        for element in value.elements {
            let files = allowingFiles ? textWithFiles(element) : nil
            guard let reply = files ?? reply(element) else { throw .unusableReply(replies.count) }
            replies.append(reply)
        }
        return replies
    }

    /// A text, or a message in Apple's format; nil when it is neither.
    static func reply(_ value: JSONValue) -> Reply? {
        if let text = value.string { return text.isEmpty ? nil : .text(text) }
        // The error names the index of an invalid reply; `balloon validate` explains the cause.
        return (try? JSONDocument(Array(value.text))).flatMap { try? Reply(json: $0) }
    }

    /// A text whose attachments are all files with absolute paths; nil for anything else.
    private static func textWithFiles(_ value: JSONValue) -> Reply? {
        guard value["type"]?.string == "text", let attachments = value["attachments"], attachments.count > 0
        else {
            return nil
        }
        var files: [OutboundFile] = []
        for attachment in attachments.elements {
            guard let path = attachment["path"]?.string, path.hasPrefix("/") else { return nil }
            files.append(
                OutboundFile(
                    path: path, name: attachment["name"]?.string,
                    mimeType: attachment["mimeType"]?.string ?? "application/octet-stream"))
        }
        return .text(value["body"]?.string ?? "", files: files)
    }

    private static func delay(_ value: JSONValue?) throws(HandlerProtocolError) -> Duration? {
        guard let value, !value.isNull else { return nil }
        guard let milliseconds = value.int, milliseconds >= 0 else { throw .malformed("retryAfterMs") }
        return .milliseconds(milliseconds)
    }

    /// The reason for the log, shortened.
    private static func reason(_ result: JSONValue) -> String {
        String((result["reason"]?.string ?? "no reason given").prefix(200))
    }

    /// Writes the members of an outcome; the server replaces ids and addresses in the replies.
    package static func write(_ outcome: Outcome, to context: Context, _ writer: inout JSONWriter) {
        if let state = context.state.change {
            writer.key("state")
            writer.raw(state)
        }
        switch outcome {
        case .handled(let replies):
            writer.field("outcome", "handled")
            writer.key("replies")
            writer.array { writer in
                for reply in replies {
                    writer.raw(reply.encode(id: .random(), from: context.business, to: context.customer))
                }
            }
        case .retry(let delay):
            writer.field("outcome", "retry")
            writer.field("retryAfterMs", delay?.milliseconds)
        case .reject(let reason):
            writer.field("outcome", "reject")
            writer.field("reason", reason)
        case .handoff(let reason):
            writer.field("outcome", "handoff")
            writer.field("reason", reason)
        }
    }
}
