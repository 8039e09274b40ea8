import BalloonJSON
package import BusinessMessages
package import MessageStore

/// What became of a message that a business sent of its own accord.
///
/// ```json
/// {"id": "0b1c…", "outcome": "accepted", "status": 200}
/// {"id": "0b1c…", "outcome": "refused", "status": 400, "reason": "400 Bad Request : …"}
/// {"id": "0b1c…", "outcome": "queued"}
/// ```
/// `queued` says that it is on disk and that the server retries it.
package struct SendAnswer: Sendable {
    /// The message's identifier.
    package let id: MessageID
    /// How it ended; nil while it has not.
    package let result: ReplyResult?

    init(id: MessageID, result: ReplyResult?) {
        self.id = id
        self.result = result
    }

    /// Reads an answer; nil when it is none.
    package init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let id = root["id"]?.string,
            let outcome = root["outcome"]?.string
        else { return nil }
        self.id = MessageID(id)
        result = ReplyResult(name: outcome, status: root["status"]?.int, reason: root["reason"]?.string)
        if result == nil, outcome != ReplyState.Status.queued.rawValue { return nil }
    }

    /// Writes the object.
    package var json: [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id.rawValue)
            writer.field("outcome", result?.name ?? ReplyState.Status.queued.rawValue)
            writer.field("status", result?.status)
            writer.field("reason", result?.reason)
        }
    }
}
