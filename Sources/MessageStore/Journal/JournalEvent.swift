import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// A message that came in, and what became of it, as the journal tells.
package struct JournalEvent: Sendable {
    /// What became of a message.
    package enum Status: String, CaseIterable, Sendable {
        /// It waits, or is being worked on.
        case pending
        /// It failed and waits outside its conversation's order for the next attempt.
        case parked
        /// A handler took it and its replies are settled.
        case handled
        /// The business has no handler for its kind.
        case unhandled
        /// The handler did not want it: a dead letter.
        case rejected
        /// A person took over.
        case handedOff
        /// It was given up: a dead letter.
        case failed
        /// It said once more what another had said moments before.
        case repeated
        /// It was a dead letter, and somebody decided that nothing is to be done.
        case dropped
        /// It was a dead letter, and is handed over again as another record.
        case retried

        /// Whether somebody must decide what is to be done.
        package var isDeadLetter: Bool { self == .failed || self == .rejected }
    }

    /// The number of its record.
    package let record: UInt64
    /// When it came in; for a replay, when that was asked for.
    package let at: Timestamp
    /// The business it is for.
    package let business: BusinessID
    /// The customer it is from.
    package let customer: CustomerID
    /// The message's id.
    package let id: MessageID
    /// The record whose message this hands over again.
    package let replayOf: UInt64?
    /// The record as which it was handed over again last; nil when it never was.
    package let replayedAs: UInt64?
    /// The kind, once that was found out.
    package let kind: Kind?
    /// What became of it.
    package let status: Status
    /// Why, where somebody said so.
    package let reason: String?
    /// How many attempts ended without an outcome.
    package let attempts: Int
    /// When the next attempt of one that is parked is due.
    package let next: Timestamp?
    /// The message, with its payload in place when that was resolved.
    package let message: JSONValue
    /// The kind of a message that went out unasked; nil for what a customer sent.
    package let outboundKind: Kind?
    /// What became of the replies that were decided, in their order.
    package let replies: [ReplyState.Status]
    /// Whether it tells a handler that a reply failed, which is no message and has no kind.
    package let isReplyFailure: Bool
    /// Whether a person, not a program, wrote what went out unasked.
    let isFromPerson: Bool
    /// Whether it came with a payload reference.
    let hasReference: Bool
    let attributes: ReceivedAttributes

    /// Whether somebody must decide what is to be done.
    package var isDeadLetter: Bool { status.isDeadLetter }
    /// Whether it came to an end.
    package var isFinished: Bool { status != .pending && status != .parked }

    /// Reads the message of a state; throws when a line cannot be read, or is no message.
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
        isFromPerson = root["person"]?.bool ?? false
        hasReference = root["reference"]?.bool ?? false
        attributes = ReceivedAttributes(root["attributes"])
        replies = state.replies.map(\.status)
        isReplyFailure = state.isReplyFailure
        if state.isCarried {
            kind = root["kind"]?.string.flatMap(Kind.init)
            reason = root["reason"]?.string
            attempts = root["attempts"]?.int ?? 0
            next = nil
            // What was dropped or retried since says so; else it is what it was.
            status =
                state.status == .pending
                ? root["result"]?.string.flatMap(Status.init) ?? .failed : state.status
        } else {
            kind = state.kind
            reason = state.reason
            attempts = Int(state.attempts)
            next = state.next
            // What the business sends of its own accord has no delivery, only a reply.
            status =
                outboundKind != nil && state.end == nil && !state.hasQueuedReply ? .handled : state.status
        }
    }

    /// The message as it is handed over again.
    ///
    /// A payload whose reference was never resolved is fetched once more.
    var replay: ReceivedMessage {
        let isOpen = hasReference && message["interactiveDataRef"] != nil
        return ReceivedMessage(
            business: business, customer: customer, id: id, attributes: attributes,
            message: Array(message.text), hasPayloadReference: isOpen, outboundKind: outboundKind,
            isFromPerson: isFromPerson)
    }
}

extension ReceivedAttributes {
    /// Reads the member of a record.
    init(_ attributes: JSONValue?) {
        self.init(
            capabilityList: attributes?["capabilityList"]?.string, locale: attributes?["locale"]?.string,
            intent: attributes?["intent"]?.string, group: attributes?["group"]?.string)
    }
}
