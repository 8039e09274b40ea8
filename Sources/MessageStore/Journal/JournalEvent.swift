package import BalloonPOSIX
package import BusinessMessages

/// A message and the result of its delivery, according to the journal.
package struct JournalEvent: Sendable {
    /// The state of a message.
    package enum Status: String, CaseIterable, Sendable {
        /// The event waits for its delivery, or is being processed.
        case pending
        /// The event failed and waits outside its conversation's order for the next attempt.
        case parked
        /// A handler handled the event; its replies may still be queued.
        case handled
        /// The business has no handler for the kind of the event.
        case unhandled
        /// The handler rejected the event: a dead letter.
        case rejected
        /// A person took over.
        case handedOff
        /// All attempts failed, or the handler's answer was refused: a dead letter.
        case failed
        /// The customer repeated the choice of a recent message, and no handler was called.
        case repeated
        /// A person has the conversation, or the conversation waits for one: no handler was called, or its
        /// answer was dropped.
        case withPerson
        /// The event was a dead letter, or pending, and an operator dropped it.
        case dropped
        /// The event was unfinished, and its customer was erased.
        case erased
        /// The event was a dead letter, and was replayed as another record.
        case retried

        /// Whether the event is a dead letter, which needs an operator's decision.
        package var isDeadLetter: Bool { self == .failed || self == .rejected }

        /// Whether a handler got the event.
        var reachedHandler: Bool {
            switch self {
            case .handled, .rejected, .handedOff, .failed: true
            case .pending, .parked, .unhandled, .repeated, .withPerson, .dropped, .erased, .retried: false
            }
        }
    }

    /// The number of the event's record.
    package let record: UInt64
    /// The arrival time; for a replay, the time at which the replay was requested.
    package let at: Timestamp
    /// The receiving business.
    package let business: BusinessID
    /// The customer who sent the message.
    package let customer: CustomerID
    /// The message's id.
    package let id: MessageID
    /// The record of the replayed message; nil when this is no replay.
    package let replayOf: UInt64?
    /// The record of the event's latest replay; nil when there is none.
    package let replayedAs: UInt64?
    /// The kind of the message; nil before the handler's decision or the end of the delivery.
    package let kind: Kind?
    /// The state of the message.
    package let status: Status
    /// The reason for the state, if one is known.
    package let reason: String?
    /// The broken rules of a refused answer, a list of objects; nil for other states.
    package let problems: JSONValue?
    /// The number of attempts that have ended, with the one that decided the outcome.
    package let attempts: Int
    /// The time of the next attempt of a parked message.
    package let next: Timestamp?
    /// The message, with its payload if a reference to the payload was resolved.
    package let message: JSONValue
    /// The kind of a proactive message; nil for a customer's message.
    package let outboundKind: Kind?
    /// The states of the replies to the event, in order.
    package let replies: [ReplyState.Status]
    /// Whether the event reports a failed reply; such an event has no message and no kind.
    package let isReplyFailure: Bool
    /// Whether the event is a record for people, which no handler gets; see ``InternalMessage``.
    let isInternal: Bool
    /// The author of a proactive or internal message.
    let author: MessageAuthor?
    /// Whether the event has a payload reference.
    let hasReference: Bool
    /// The headers that came with the message.
    package let attributes: ReceivedAttributes

    /// Whether the event is a dead letter, which needs an operator's decision.
    package var isDeadLetter: Bool { status.isDeadLetter }
    /// Whether the event has ended.
    package var isFinished: Bool { status != .pending && status != .parked }

    /// Reads the message with this state from the journal; throws when its lines are unreadable or have
    /// another form.
    init(_ state: MessageState, from reader: SegmentReader) throws(StoreError) {
        let root = try reader.line(at: state.location).root
        guard let business = root["business"]?.string, let customer = root["customer"]?.string,
            let id = root["id"]?.string, let message = root["message"]
        else { throw .unknownRecord(state.record) }
        record = state.record
        at = root.timestamp("at") ?? Timestamp(milliseconds: 0)
        self.business = BusinessID(business)
        self.customer = CustomerID(customer)
        self.id = MessageID(id)
        let resolved = try state.resolved.map { location throws(StoreError) in
            try reader.line(at: location).root["message"]
        }
        self.message = resolved.flatMap(\.self) ?? message
        replayOf = root.record("replayOf")
        replayedAs = state.replayedAs
        let outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        self.outboundKind = outboundKind
        author = MessageAuthor(root)
        hasReference = root["reference"]?.bool ?? false
        attributes = ReceivedAttributes(root["attributes"])
        replies = state.replies.map(\.status)
        isReplyFailure = state.isReplyFailure
        isInternal = root["act"]?.equals("internal") ?? false
        if state.isCarried {
            kind = root["kind"]?.string.flatMap(Kind.init)
            reason = root["reason"]?.string
            problems = root["problems"]
            attempts = root["attempts"]?.int ?? 0
            next = nil
            // When the copy was dropped or retried later, this state counts, and not the result in the copy.
            status =
                state.status == .pending
                ? root["result"]?.string.flatMap(Status.init) ?? .failed : state.status
        } else {
            kind = state.kind
            reason = state.reason
            problems = try state.refusal.flatMap { location throws(StoreError) in
                try reader.line(at: location).root["problems"]
            }
            attempts = Int(state.attempts)
            next = state.next
            // A proactive message has no delivery, only a reply.
            status =
                outboundKind != nil && state.end == nil && !state.hasQueuedReply ? .handled : state.status
        }
    }

    /// The message that a replay of the event appends.
    ///
    /// A payload whose reference was never resolved is downloaded again.
    var replay: ReceivedMessage {
        let isOpen = hasReference && message["interactiveDataRef"] != nil
        return ReceivedMessage(
            business: business, customer: customer, id: id, attributes: attributes,
            message: Array(message.text), hasPayloadReference: isOpen, outboundKind: outboundKind,
            author: author, act: isInternal ? .internal : .writes)
    }
}

extension ReceivedAttributes {
    /// Parses the member `attributes` of a record; missing attributes are nil.
    init(_ attributes: JSONValue?) {
        self.init(
            capabilityList: attributes?["capabilityList"]?.string, locale: attributes?["locale"]?.string,
            intent: attributes?["intent"]?.string, group: attributes?["group"]?.string,
            version: attributes?["version"]?.string, deviceAgent: attributes?["deviceAgent"]?.string)
    }
}
