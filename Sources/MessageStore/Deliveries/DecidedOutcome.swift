package import BusinessMessages

/// The final decision of a handler about a delivery.
package struct DecidedOutcome: Hashable, Sendable {
    /// The result of the event itself: handled, rejected, handed off, or refused with the replies of the fallback.
    package let result: DeliveryResult
    /// The replies, in sending order.
    package let replies: [DecidedReply]
    /// The new state of the conversation, a JSON object, or `null` to delete it; nil leaves it unchanged.
    package let state: [UInt8]?

    /// Whether the conversation waits for a person from this decision on; only with `handedOff`.
    package let waitsForPerson: Bool
    /// The queue and the priority that the handler named for the wait; no rule has decided about them yet.
    package let placement: Placement?
    /// The handler's note for the person.
    package let note: String?
    /// The author of the replies; nil where an earlier version did not record the author.
    package let author: MessageAuthor?

    /// Creates an outcome.
    package init(
        _ result: DeliveryResult, replies: [DecidedReply] = [], state: [UInt8]? = nil,
        waitsForPerson: Bool = false, placement: Placement? = nil, note: String? = nil,
        author: MessageAuthor? = .handler
    ) {
        self.result = result
        self.replies = replies
        self.state = state
        self.waitsForPerson = waitsForPerson
        (self.placement, self.note) = (placement, note)
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
    /// The author, if it is not the author of the outcome: a text of the server before a handler's replies.
    package var author: MessageAuthor?

    /// Creates a reply from an encoded message.
    package init(id: MessageID, kind: Kind, message: [UInt8], author: MessageAuthor? = nil) {
        self.author = author
        self.id = id
        self.kind = kind
        self.message = message
    }
}

/// The end of a reply.
package struct ReplyResult: Hashable, Sendable {
    /// The state of the ended reply; never `queued` or `retried`.
    package let status: ReplyState.Status
    /// The gateway's HTTP status, if it answered.
    package let httpStatus: Int?
    /// The reason why the reply was not accepted; nil when there is none, as of a gateway that refuses without a text.
    package let reason: String?

    private init(_ status: ReplyState.Status, _ httpStatus: Int? = nil, reason: String? = nil) {
        self.status = status
        self.httpStatus = httpStatus
        self.reason = reason.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Parses the name of a result; nil for any other text, including the states of a reply that has not ended.
    package init?(name: String, httpStatus: Int?, reason: String?) {
        guard let status = ReplyState.Status(rawValue: name), status != .queued, status != .retried else {
            return nil
        }
        let isAccepted = status == .accepted
        self.init(
            status, isAccepted ? httpStatus ?? 200 : httpStatus,
            reason: isAccepted || status == .erased ? nil : reason)
    }

    /// The gateway accepted the reply.
    package static func accepted(status: Int) -> ReplyResult { ReplyResult(.accepted, status) }
    /// The gateway refused the reply with this status, or a local check found a broken rule; a retry does not help.
    package static func refused(status: Int?, reason: String) -> ReplyResult {
        ReplyResult(.refused, status, reason: reason)
    }
    /// The reply was not sent in time.
    package static func expired(reason: String) -> ReplyResult { ReplyResult(.expired, reason: reason) }
    /// The reply is no longer wanted, for example because the customer closed the conversation.
    package static func dropped(reason: String) -> ReplyResult { ReplyResult(.dropped, reason: reason) }
    /// An earlier version of this program stopped retrying the reply.
    package static func failed(reason: String) -> ReplyResult { ReplyResult(.failed, reason: reason) }
    /// The reply was queued when its customer was erased.
    package static let erased = ReplyResult(.erased)

    /// Whether the reply is a dead letter, which needs an operator's decision.
    package var isDeadLetter: Bool { status.isDeadLetter }
}

/// The end of a delivery.
package struct DeliveryResult: Hashable, Sendable {
    /// The state of the message from then on.
    package let status: JournalEvent.Status
    /// The reason for a dead letter, a hand-off or a drop.
    package let reason: String?
    /// The broken rules of a refused answer.
    let problems: [UInt8]?
    /// The id of the recent message whose choice this message repeated.
    let original: MessageID?

    private init(
        _ status: JournalEvent.Status, reason: String? = nil, problems: [UInt8]? = nil,
        original: MessageID? = nil
    ) {
        self.status = status
        self.reason = reason
        self.problems = problems
        self.original = original
    }

    /// A handler handled the event; its replies may still be queued.
    package static let handled = DeliveryResult(.handled)
    /// The business has no handler for this kind.
    package static let unhandled = DeliveryResult(.unhandled)
    /// The handler rejected the event.
    package static func rejected(reason: String) -> DeliveryResult {
        DeliveryResult(.rejected, reason: reason)
    }
    /// A person took over.
    package static func handedOff(reason: String) -> DeliveryResult {
        DeliveryResult(.handedOff, reason: reason)
    }
    /// All attempts failed, or the business was removed.
    package static func failed(reason: String) -> DeliveryResult { DeliveryResult(.failed, reason: reason) }
    /// The handler's answer broke a rule; the replies of the configured fallback, if any, are sent.
    package static func refused(_ answer: RefusedAnswer) -> DeliveryResult {
        DeliveryResult(.failed, reason: answer.reason, problems: answer.problems)
    }
    /// The customer repeated the choice of a recent message, and no handler was called.
    package static func repeated(of original: MessageID) -> DeliveryResult {
        DeliveryResult(.repeated, original: original)
    }
    /// A person has the conversation, or the conversation waits for one: no handler was called, or its answer was dropped.
    package static let withPerson = DeliveryResult(.withPerson)
    /// An operator dropped the event, its customer was erased, or it reports a failed reply that no handler handled.
    package static func dropped(reason: String) -> DeliveryResult { DeliveryResult(.dropped, reason: reason) }
    /// The event was unfinished when its customer was erased.
    static let erased = DeliveryResult(.erased)

    /// The result with which the delivery ends instead while a person has the conversation.
    var withPerson: DeliveryResult {
        status == .repeated || status == .dropped || status == .erased ? self : .withPerson
    }

    /// Returns the result with which the delivery of `pending` ends.
    ///
    /// An event that reports a failed reply is dropped instead of becoming a dead letter, because the reply
    /// already is one.
    func end(of pending: PendingDelivery) -> DeliveryResult {
        pending.isReplyFailure && status.isDeadLetter ? .dropped(reason: reason ?? "") : self
    }
}
