public import BusinessMessages
public import Logging

/// The information about an event besides its content.
public struct Context: Sendable {
    /// The event, with its raw message.
    public let event: InboundEvent
    /// The failed reply, when the event reports one; nil for a customer's message.
    public let replyFailure: ReplyFailure?
    /// The conversation so far; the event itself is the last entry, if the server recorded it already.
    public let conversation: Conversation
    /// The handler's state of the conversation, readable and writable.
    public let state: ConversationState
    /// The files of the message, in the order of its attachments.
    public let files: [AttachmentFile]
    /// The delivery's identity; it is the same on every attempt, so it serves as a key for work that must be
    /// done once.
    public let deliveryID: DeliveryID
    /// The number of this attempt, from 1.
    public let attempt: Int
    /// Whether an earlier event of the conversation was skipped after many failures and may be delivered later.
    public let isAfterGap: Bool
    /// For the first event after a person answered: the number of the conversation's first line without the handler; nil
    /// otherwise.
    ///
    /// The lines from there on are what the customer and the person said. The handler's state is as it was before.
    public let afterPerson: Int?
    /// Whether an operator delivers the event again.
    public let isReplay: Bool
    /// When the server received the event, as `2026-11-21T10:00:00.123Z`; nil in a handler's tests.
    public let receivedAt: String?
    /// Why the event is `unrecognized`; nil for every other kind.
    public let unrecognizedReason: UnrecognizedReason?
    /// The result of the sign-in that the event ends; nil for every other event.
    ///
    /// It is there for an `authentication` event of a business with `authentication` in its file. A customer can send the
    /// address of a sign-in to another person: read "Sign a customer in" before you trust an identity alone.
    public package(set) var signIn: SignInResult?
    /// The server's record of the payment that the event ends; nil for every other event.
    ///
    /// It is there for an `applePay` event of a business with `applePay` in its file, when the server made the request.
    public package(set) var payment: PaymentResult?
    /// The trace and the span of this attempt, as the header `traceparent` of W3C Trace Context; nil in a handler's tests.
    ///
    /// Send it with your own requests. The trace is derived from business and message, and the server's log lines have it as `trace_id`.
    public package(set) var traceparent: String?
    /// The time after which the answer is dropped and the handler's task cancelled.
    public private(set) var deadline: ContinuousClock.Instant
    /// The number that the server wrote into the event, for a handler in a process of its own.
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

    /// The same context with another deadline; it shares the handler's state.
    package func beginning(deadline: ContinuousClock.Instant) -> Context {
        var context = self
        context.deadline = deadline
        return context
    }

    /// The number of the event's line in the whole conversation: 1, 2, 3, without gaps; a replay has the number of the
    /// original.
    ///
    /// Nil for a failed reply. A server reads it from its disk, as it reads ``conversation``.
    public var seq: Int? {
        if let receivedSeq { return receivedSeq }
        return replyFailure == nil ? conversation.seq(of: event.id) : nil
    }

    /// The subscription that a handler needs for the event.
    public var subscription: Subscription { replyFailure == nil ? .kind(event.kind) : .replyFailed }
    /// The number of the delivery's record, as operators name it: the last part of ``deliveryID``.
    package var record: Substring { deliveryID.rawValue.split(separator: ".").last ?? "" }
    /// A logger that names the delivery, its trace and, inside a server, the business; never log customer text.
    public var logger: Logger {
        var logger = handlerLogger
        logger[metadataKey: "delivery"] = "\(record)"
        // The trace is between the version and the span.
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
