public import BusinessMessages
public import Logging

/// The information about an event besides its content.
public struct Context: Sendable {
    /// The event, with its raw message.
    public let event: InboundEvent
    /// The reply that failed, if the event reports a failed reply; nil for a customer's message.
    public let replyFailure: ReplyFailure?
    /// The customer's consent, given or withdrawn; nil for any other event.
    public package(set) var consent: ConsentChange?
    /// The conversation so far; the event itself is the last entry, if the server recorded it already.
    public let conversation: Conversation
    /// The handler's state of the conversation, readable and writable.
    public let state: ConversationState
    /// The files of the message, in the order of its attachments.
    public let files: [AttachmentFile]
    /// The identity of the delivery, which is the same on every attempt.
    ///
    /// Use it as the idempotency key for work that must be done only once.
    public let deliveryID: DeliveryID
    /// The number of this attempt, from 1.
    public let attempt: Int
    /// Whether an earlier event of the conversation was skipped after many failures and may be delivered later.
    public let isAfterGap: Bool
    /// The number of the first message that did not go to the handler, in the first event after a person
    /// answered.
    ///
    /// Nil for other events. The messages from that number on are those of the customer and the person. The
    /// handler's state is the same as before the person took over.
    public let afterPerson: Int?
    /// Whether an operator has requested another delivery of the event.
    public let isReplay: Bool
    /// The time at which the server received the event, as `2026-11-21T10:00:00.123Z`; nil in a handler's
    /// tests.
    public let receivedAt: String?
    /// The reason why the event's kind is `unrecognized`; nil for every other kind.
    public let unrecognizedReason: UnrecognizedReason?
    /// The result of the sign-in that this event completes; nil for every other event.
    ///
    /// An `authentication` event has a result when the business has `authentication` in its file. A customer
    /// can send the address of a sign-in to another person: read "Sign a customer in" before you trust an
    /// identity alone.
    public package(set) var signIn: SignInResult?
    /// The server's record of the payment that this event completes; nil for every other event.
    ///
    /// An `applePay` event has a record when the business has `applePay` in its file and the server made the
    /// request.
    public package(set) var payment: PaymentResult?
    /// The trace and the span of this attempt in the format of the header `traceparent` (W3C Trace Context).
    ///
    /// Nil in a handler's tests. Send the value with your own requests. The trace is derived from the
    /// business and the message; the server's log lines have it as `trace_id`.
    public package(set) var traceparent: String? {
        get { traceparentSource?() }
        set { traceparentSource = if let newValue { { newValue } } else { nil } }
    }
    /// Derives ``traceparent`` when it is read, because few handlers read it.
    package var traceparentSource: (@Sendable () -> String)?
    /// The time after which the answer is dropped and the handler's task cancelled.
    public private(set) var deadline: ContinuousClock.Instant
    /// The value of ``seq`` that the server sent with the event; only in a handler that is a separate
    /// process.
    package var receivedSeq: Int?
    private let handlerLogger: Logger

    /// Creates a context, in a server or in a handler's tests.
    public init(
        event: InboundEvent,
        replyFailure: ReplyFailure? = nil,
        conversation: Conversation = Conversation(),
        state: ConversationState = ConversationState(),
        files: [AttachmentFile] = [],
        deliveryID: DeliveryID,
        attempt: Int = 1,
        isAfterGap: Bool = false,
        afterPerson: Int? = nil,
        isReplay: Bool = false,
        receivedAt: String? = nil,
        unrecognizedReason: UnrecognizedReason? = nil,
        signIn: SignInResult? = nil,
        deadline: ContinuousClock.Instant,
        logger: Logger
    ) {
        self.event = event
        self.replyFailure = replyFailure
        self.conversation = conversation
        self.state = state
        self.files = files
        self.deliveryID = deliveryID
        self.attempt = attempt
        self.isAfterGap = isAfterGap
        self.afterPerson = afterPerson
        self.isReplay = isReplay
        self.receivedAt = receivedAt
        self.unrecognizedReason = unrecognizedReason
        self.signIn = signIn
        self.deadline = deadline
        handlerLogger = logger
    }

    /// Returns the same context with another deadline; both share the handler's state.
    package func beginning(deadline: ContinuousClock.Instant) -> Context {
        var context = self
        context.deadline = deadline
        return context
    }

    /// The number of the event's message in the whole conversation: 1, 2, 3, without gaps.
    ///
    /// A replay has the number of the original. Nil for a failed reply. A server may have to read the number
    /// from its disk, like ``conversation``.
    public var seq: Int? {
        if let receivedSeq { return receivedSeq }
        return replyFailure == nil ? conversation.seq(of: event.id) : nil
    }

    /// The subscription that a handler needs for the event.
    public var subscription: Subscription {
        consent != nil ? .consent : replyFailure == nil ? .kind(event.kind) : .replyFailed
    }
    /// The number of the delivery's record, as operators name it: the last part of ``deliveryID``.
    package var record: Substring { deliveryID.rawValue.split(separator: ".").last ?? "" }
    /// A logger with the delivery, its trace and, inside a server, the business as metadata.
    ///
    /// Never log customer text.
    public var logger: Logger {
        var logger = handlerLogger
        logger[metadataKey: "delivery"] = "\(record)"
        // The version and a hyphen come before the 32 digits of the trace, and the span follows.
        if let traceparent, traceparent.utf8.count == 55 {
            logger[metadataKey: "trace_id"] = "\(traceparent.dropFirst(3).prefix(32))"
        }
        return logger
    }

    /// The business that received the event.
    public var business: BusinessID { event.business }
    /// The customer.
    public var customer: CustomerID { event.customer }
    /// The kinds of content that the customer's device can show; send no others.
    public var capabilities: Capabilities { event.attributes.capabilities }
    /// The customer's language and region, `en_US` or `en_us`.
    public var locale: String? { event.attributes.locale }
    /// The purpose named by the link that opened the conversation; present in its first message.
    public var intent: String? { event.attributes.intent }
    /// The department named by the link that opened the conversation; present in its first message.
    public var group: String? { event.attributes.group }
}
