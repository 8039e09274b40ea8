public import BusinessMessages

/// A reply that did not reach the customer, in the form that its handler receives.
///
/// ```json
/// {"reply": "…", "inReplyTo": "…", "kind": "listPicker", "status": "refused", "httpStatus": 400,
/// "reason": "Bad Request", "attempts": 1}
/// ```
/// The history of the conversation contains the reply's message under the id in `reply`.
public struct ReplyFailure: Hashable, Sendable {
    /// How a reply fails.
    public enum Status: String, CaseIterable, Sendable {
        /// Apple's gateway refused the reply, or the reply broke a rule that the gateway enforces.
        case refused
        /// The reply could not be sent in time.
        case expired
    }

    /// The reply's message id.
    public let reply: MessageID
    /// The id of the customer's message that the reply answered.
    public let inReplyTo: MessageID?
    /// The reply's kind.
    public let kind: Kind
    /// How the reply failed.
    public let status: Status
    /// The HTTP status of the gateway's answer; nil when there was none.
    public let httpStatus: Int?
    /// The reason, for a log; contains no customer text.
    public let reason: String
    /// How many attempts were made to send the reply.
    public let attempts: Int

    /// Creates a failure, in a server or in a handler's tests.
    public init(
        reply: MessageID, inReplyTo: MessageID?, kind: Kind, status: Status, httpStatus: Int? = nil,
        reason: String, attempts: Int = 1
    ) {
        self.reply = reply
        self.inReplyTo = inReplyTo
        self.kind = kind
        self.status = status
        self.httpStatus = httpStatus
        self.reason = reason
        self.attempts = attempts
    }

    /// Parses a failure in the form of ``json``; nil when `value` has another form.
    package init?(_ value: JSONValue) {
        guard let reply = value["reply"]?.string,
            let status = value["status"]?.string.flatMap(Status.init(rawValue:))
        else { return nil }
        self.init(
            reply: MessageID(reply), inReplyTo: value["inReplyTo"]?.string.map { MessageID($0) },
            kind: value["kind"]?.string.flatMap(Kind.init(rawValue:)) ?? .unrecognized, status: status,
            httpStatus: value["httpStatus"]?.int, reason: value["reason"]?.string ?? "",
            attempts: value["attempts"]?.int ?? 1)
    }

    /// The failure in the form that handlers outside the process receive.
    package var json: [UInt8] {
        JSONWriter.object([
            "reply": reply.rawValue, "inReplyTo": inReplyTo?.rawValue, "kind": kind.rawValue,
            "status": status.rawValue, "httpStatus": httpStatus, "reason": reason, "attempts": attempts,
        ])
    }
}
