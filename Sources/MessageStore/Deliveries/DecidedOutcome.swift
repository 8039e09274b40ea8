package import BusinessMessages

/// What a handler decided about a delivery, once and for all.
package struct DecidedOutcome: Hashable, Sendable {
    /// What is to become of the event itself.
    package enum Verdict: Hashable, Sendable {
        /// The handler is done with it.
        case handled
        /// The handler does not want it.
        case rejected(reason: String)
        /// A person takes over.
        case handedOff(reason: String)
    }

    /// What is to become of the event itself.
    package let verdict: Verdict
    /// The replies, in the order in which they are sent.
    package let replies: [DecidedReply]
    /// What the handler remembers of the conversation from now on, a JSON object, or `null` to forget; nil leaves it as
    /// it is.
    package let state: [UInt8]?

    /// Takes a verdict, the replies and the state.
    package init(_ verdict: Verdict, replies: [DecidedReply] = [], state: [UInt8]? = nil) {
        self.verdict = verdict
        self.replies = replies
        self.state = state
    }
}

/// One reply of a decided outcome: every attempt to send it uses this id and these bytes.
package struct DecidedReply: Hashable, Sendable {
    /// The message's id.
    package let id: MessageID
    /// The message's kind.
    package let kind: Kind
    /// The message as it goes to the gateway, a JSON object.
    package let message: [UInt8]

    /// Takes a message that was encoded.
    package init(id: MessageID, kind: Kind, message: [UInt8]) {
        self.id = id
        self.kind = kind
        self.message = message
    }
}

/// How a reply ended.
package enum ReplyResult: Hashable, Sendable {
    /// The gateway accepted it.
    case accepted(status: Int)
    /// The gateway refused it, with its status, or a rule of Apple's that was checked here; sending it again would not help.
    case refused(status: Int?, reason: String)
    /// It could not be sent in time.
    case expired(reason: String)
    /// It was not to be sent any more.
    case dropped(reason: String)
    /// An earlier version of this program gave it up.
    case failed(reason: String)

    /// The spelling in journal and conversation.
    package var name: String {
        switch self {
        case .accepted: ReplyState.Status.accepted.rawValue
        case .refused: ReplyState.Status.refused.rawValue
        case .expired: ReplyState.Status.expired.rawValue
        case .dropped: ReplyState.Status.dropped.rawValue
        case .failed: ReplyState.Status.failed.rawValue
        }
    }

    /// The gateway's HTTP status, when one came.
    package var status: Int? {
        switch self {
        case .accepted(let status): status
        case .refused(let status, _): status
        case .expired, .dropped, .failed: nil
        }
    }

    /// Why it was not accepted.
    package var reason: String? {
        switch self {
        case .accepted: nil
        case .refused(_, let reason), .expired(let reason), .dropped(let reason), .failed(let reason): reason
        }
    }

    /// Reads the spelling; nil for another, and for a reply that has no end yet.
    package init?(name: String, status: Int?, reason: String?) {
        switch ReplyState.Status(rawValue: name) {
        case .accepted: self = .accepted(status: status ?? 200)
        case .refused: self = .refused(status: status, reason: reason ?? "")
        case .expired: self = .expired(reason: reason ?? "")
        case .dropped: self = .dropped(reason: reason ?? "")
        case .failed: self = .failed(reason: reason ?? "")
        case .queued, .retried, nil: return nil
        }
    }

    /// Whether somebody must decide what is to be done.
    package var isDeadLetter: Bool {
        switch self {
        case .refused, .expired, .failed: true
        case .accepted, .dropped: false
        }
    }
}

/// How a delivery ended.
package enum DeliveryResult: Hashable, Sendable {
    /// A handler took it and its replies are settled.
    case handled
    /// The business has no handler for this kind.
    case unhandled
    /// The handler did not want it.
    case rejected(reason: String)
    /// A person took over.
    case handedOff(reason: String)
    /// It was given up.
    case failed(reason: String)
    /// It said once more what another message had said moments before, and was not handed over.
    case repeated(of: MessageID)

    /// An operator ended it, or its handler will not come back.
    case dropped(reason: String)

    /// The spelling in the journal.
    var name: String {
        switch self {
        case .dropped: "dropped"
        case .handled: "handled"
        case .unhandled: "unhandled"
        case .rejected: "rejected"
        case .handedOff: "handedOff"
        case .failed: "failed"
        case .repeated: "repeated"
        }
    }

    /// Whether somebody must decide what is to be done.
    var isDeadLetter: Bool {
        switch self {
        case .rejected, .failed: true
        case .handled, .unhandled, .handedOff, .repeated, .dropped: false
        }
    }

    /// Why it is a dead letter; nil when it is none.
    package var reasonOfDeadLetter: String? { isDeadLetter ? reason ?? "" : nil }

    /// How such a delivery ends: what tells of a failed reply is dropped where another would be a dead letter, because the
    /// reply is one.
    func end(of pending: PendingDelivery) -> DeliveryResult {
        guard pending.isReplyFailure, let reasonOfDeadLetter else { return self }
        return .dropped(reason: reasonOfDeadLetter)
    }

    /// The message that was repeated.
    var original: MessageID? {
        if case .repeated(let original) = self { original } else { nil }
    }

    var reason: String? {
        switch self {
        case .handled, .unhandled, .repeated: nil
        case .rejected(let reason), .handedOff(let reason), .failed(let reason), .dropped(let reason): reason
        }
    }
}
