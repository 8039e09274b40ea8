import BalloonJSON
package import BusinessMessages
package import MessageStore

/// The result of a proactive message, which a business sends without an event.
///
/// ```json
/// {"id": "0b1c…", "outcome": "accepted", "status": 200}
/// {"id": "0b1c…", "outcome": "refused", "status": 400, "reason": "400 Bad Request : …"}
/// {"id": "0b1c…", "outcome": "queued"}
/// ```
/// `queued` means that the message is on disk and will be retried.
package struct SendAnswer: Sendable {
    /// The message's identifier.
    package let id: MessageID
    /// The outcome; nil while it is unknown.
    package let result: ReplyResult?

    init(id: MessageID, result: ReplyResult?) {
        self.id = id
        self.result = result
    }

    /// Parses an answer; nil when it is invalid.
    package init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let id = root["id"]?.string,
            let outcome = root["outcome"]?.string
        else { return nil }
        self.id = MessageID(id)
        result = ReplyResult(name: outcome, status: root["status"]?.int, reason: root["reason"]?.string)
        if result == nil, outcome != ReplyState.Status.queued.rawValue { return nil }
    }

    /// The answer as a JSON object.
    package var json: [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id.rawValue)
            writer.field("outcome", result?.name ?? ReplyState.Status.queued.rawValue)
            writer.field("status", result?.status)
            writer.field("reason", result?.reason)
        }
    }
}
