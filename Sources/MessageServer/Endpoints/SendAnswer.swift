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

    /// The answer as a JSON object.
    package var json: [UInt8] { Self.form.json(self) }

    static let form = JSONForm<SendAnswer>(
        write: { answer, writer in
            writer.object([
                "id": answer.id.rawValue, "outcome": (answer.result?.status ?? .queued).rawValue,
                "status": answer.result?.httpStatus, "reason": answer.result?.reason,
            ])
        },
        read: { root in
            guard let id = root["id"]?.string, let outcome = root["outcome"]?.string else { return nil }
            let result = ReplyResult(
                name: outcome, httpStatus: root["status"]?.int, reason: root["reason"]?.string)
            guard result != nil || outcome == ReplyState.Status.queued.rawValue else { return nil }
            return SendAnswer(id: MessageID(id), result: result)
        })
}
