package import BusinessMessages

/// The final decision of a handler about a delivery.
package struct DecidedOutcome: Hashable, Sendable {
    /// The result of the event itself.
    package enum Verdict: Hashable, Sendable {
        /// The handler handled the event.
        case handled
        /// The handler rejected the event.
        case rejected(reason: String)
        /// A person takes over.
        case handedOff(reason: String)
        /// The handler's answer broke a rule; the replies are those of the configured fallback.
        case refused(RefusedAnswer)
    }

    /// The result of the event itself.
    package let verdict: Verdict
    /// The replies, in sending order.
    package let replies: [DecidedReply]
    /// The new state of the conversation, a JSON object, or `null` to delete it; nil leaves it unchanged.
    package let state: [UInt8]?

    /// Whether the conversation waits for a person from this decision on; only with `handedOff`.
    package let waitsForPerson: Bool
    /// The author of the replies; nil where an earlier version did not record the author.
    package let author: MessageAuthor?

    /// Creates an outcome.
    package init(
        _ verdict: Verdict, replies: [DecidedReply] = [], state: [UInt8]? = nil, waitsForPerson: Bool = false,
        author: MessageAuthor? = .handler
    ) {
        self.verdict = verdict
        self.replies = replies
        self.state = state
        self.waitsForPerson = waitsForPerson
        self.author = author
    }

    /// Whether the outcome needs a separate record; otherwise the record that ends the delivery says all of
    /// it.
    package var needsRecord: Bool { !replies.isEmpty || state != nil || waitsForPerson }
}

/// One reply of a decided outcome: every attempt sends this id and these bytes.
package struct DecidedReply: Hashable, Sendable {
    /// The message's id.
    package var id: MessageID
    /// The message's kind.
    package var kind: Kind
    /// The message for the gateway, a JSON object.
    package var message: [UInt8]

    /// Creates a reply from an encoded message.
    package init(id: MessageID, kind: Kind, message: [UInt8]) {
        self.id = id
        self.kind = kind
        self.message = message
    }
}

/// The end of a reply.
package enum ReplyResult: Hashable, Sendable {
    /// The gateway accepted the reply.
    case accepted(status: Int)
    /// The gateway refused the reply with this status, or a local check found a broken rule; a retry does not help.
    case refused(status: Int?, reason: String)
    /// The reply was not sent in time.
    case expired(reason: String)
    /// The reply is no longer wanted, for example because the customer closed the conversation.
    case dropped(reason: String)
    /// An earlier version of this program stopped retrying the reply.
    case failed(reason: String)
    /// The reply was queued when its customer was erased.
    case erased

    /// The name of the result in the journal and in conversations.
    package var name: String {
        switch self {
        case .accepted: ReplyState.Status.accepted.rawValue
        case .refused: ReplyState.Status.refused.rawValue
        case .expired: ReplyState.Status.expired.rawValue
        case .dropped: ReplyState.Status.dropped.rawValue
        case .failed: ReplyState.Status.failed.rawValue
        case .erased: ReplyState.Status.erased.rawValue
        }
    }

    /// The gateway's HTTP status, if it answered.
    package var status: Int? {
        switch self {
        case .accepted(let status): status
        case .refused(let status, _): status
        case .expired, .dropped, .failed, .erased: nil
        }
    }

    /// The reason why the reply was not accepted; nil for an accepted or erased reply.
    package var reason: String? {
        switch self {
        case .accepted, .erased: nil
        case .refused(_, let reason), .expired(let reason), .dropped(let reason), .failed(let reason):
            // A gateway may refuse without a text.
            reason.isEmpty ? nil : reason
        }
    }

    /// Parses the name of a result; nil for any other text, including the states of a reply that has not
    /// ended.
    package init?(name: String, status: Int?, reason: String?) {
        switch ReplyState.Status(rawValue: name) {
        case .accepted: self = .accepted(status: status ?? 200)
        case .refused: self = .refused(status: status, reason: reason ?? "")
        case .expired: self = .expired(reason: reason ?? "")
        case .dropped: self = .dropped(reason: reason ?? "")
        case .failed: self = .failed(reason: reason ?? "")
        case .erased: self = .erased
        case .queued, .retried, nil: return nil
        }
    }

    /// Whether the outcome is a dead letter, which needs an operator's decision.
    package var isDeadLetter: Bool {
        switch self {
        case .refused, .expired, .failed: true
        case .accepted, .dropped, .erased: false
        }
    }
}

/// The end of a delivery.
package enum DeliveryResult: Hashable, Sendable {
    /// A handler handled the event; its replies may still be queued.
    case handled
    /// The business has no handler for this kind.
    case unhandled
    /// The handler rejected the event.
    case rejected(reason: String)
    /// A person took over.
    case handedOff(reason: String)
    /// All attempts failed, or the business was removed.
    case failed(reason: String)
    /// The handler's answer broke a rule; the replies of the configured fallback, if any, are sent.
    case refused(RefusedAnswer)
    /// The customer repeated the choice of a recent message, and no handler was called.
    case repeated(of: MessageID)
    /// A person has the conversation, or the conversation waits for one: no handler was called, or its answer
    /// was dropped.
    case withPerson
    /// An operator dropped the event, its customer was erased, or it reports a failed reply that no handler
    /// handled.
    case dropped(reason: String)
    /// The event was unfinished when its customer was erased.
    case erased

    /// The name of the result in the journal.
    var name: String {
        switch self {
        case .dropped: "dropped"
        case .erased: "erased"
        case .handled: "handled"
        case .unhandled: "unhandled"
        case .rejected: "rejected"
        case .handedOff: "handedOff"
        case .failed, .refused: "failed"
        case .repeated: "repeated"
        case .withPerson: "withPerson"
        }
    }

    /// Whether the outcome is a dead letter, which needs an operator's decision.
    var isDeadLetter: Bool {
        switch self {
        case .rejected, .failed, .refused: true
        case .handled, .unhandled, .handedOff, .repeated, .withPerson, .dropped, .erased: false
        }
    }

    /// Whether a handler got the event.
    var reachedHandler: Bool { JournalEvent.Status(rawValue: name)?.reachedHandler ?? false }

    /// The result with which the delivery ends instead while a person has the conversation.
    var withPerson: DeliveryResult {
        switch self {
        case .repeated, .dropped, .erased: self
        case .handled, .unhandled, .rejected, .handedOff, .failed, .refused, .withPerson: .withPerson
        }
    }

    /// The reason why the event is a dead letter; nil for any other outcome.
    package var reasonOfDeadLetter: String? { isDeadLetter ? reason ?? "" : nil }

    /// Returns the result with which the delivery of `pending` ends.
    ///
    /// An event that reports a failed reply is dropped instead of becoming a dead letter, because the reply
    /// already is one.
    func end(of pending: PendingDelivery) -> DeliveryResult {
        guard pending.isReplyFailure, let reasonOfDeadLetter else { return self }
        return .dropped(reason: reasonOfDeadLetter)
    }

    /// The id of the recent message whose choice this message repeated; nil for other results.
    var original: MessageID? {
        if case .repeated(let original) = self { original } else { nil }
    }

    var reason: String? {
        switch self {
        case .handled, .unhandled, .repeated, .withPerson, .erased: nil
        case .rejected(let reason), .handedOff(let reason), .failed(let reason), .dropped(let reason): reason
        case .refused(let answer): answer.reason
        }
    }

    /// The broken rules of a refused answer.
    var problems: [UInt8]? { if case .refused(let answer) = self { answer.problems } else { nil } }
}
