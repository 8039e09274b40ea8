public import BusinessMessages
public import Logging

/// What a handler may know about an event besides its content.
public struct Context: Sendable {
    /// The event, with its raw message.
    public let event: InboundEvent
    /// The reply that failed, when the event tells of that; nil for what a customer sent.
    public let replyFailure: ReplyFailure?
    /// What was said before; the event itself is the last entry, if the server recorded it already.
    public let conversation: Conversation
    /// What the handler remembers of the conversation, to read and to change.
    public let state: ConversationState
    /// The files that came with the message, in the order of its attachments.
    public let files: [AttachmentFile]
    /// The delivery's identity; the same on every attempt, so a key for work that must be done once.
    public let deliveryID: DeliveryID
    /// Which attempt this is, from 1.
    public let attempt: Int
    /// Whether an earlier event of the conversation failed so often that it waits outside the order, and may come later.
    public let isAfterGap: Bool
    /// When the answer is dropped and the handler's task cancelled.
    public let deadline: ContinuousClock.Instant
    private let handlerLogger: Logger

    /// Makes a context; a server does, and a handler's tests.
    public init(
        event: InboundEvent,
        replyFailure: ReplyFailure? = nil,
        conversation: Conversation = Conversation(),
        state: ConversationState = ConversationState(),
        files: [AttachmentFile] = [],
        deliveryID: DeliveryID,
        attempt: Int = 1,
        isAfterGap: Bool = false,
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
        self.deadline = deadline
        handlerLogger = logger
    }

    /// What a handler must be subscribed to for the event.
    public var subscription: Subscription { replyFailure == nil ? .kind(event.kind) : .replyFailed }
    /// A logger that names the delivery, and the business if it is a server's; no customer text belongs in it.
    public var logger: Logger {
        var logger = handlerLogger
        logger[metadataKey: "delivery"] = "\(deliveryID.rawValue)"
        return logger
    }

    /// The business that was addressed.
    public var business: BusinessID { event.business }
    /// The customer.
    public var customer: CustomerID { event.customer }
    /// What the customer's device can show; nothing else may be sent.
    public var capabilities: Capabilities { event.attributes.capabilities }
    /// The customer's language and region, `en_US` or `en_us`.
    public var locale: String? { event.attributes.locale }
    /// The purpose that the conversation's link named; comes with its first message.
    public var intent: String? { event.attributes.intent }
    /// The department that the conversation's link named; comes with its first message.
    public var group: String? { event.attributes.group }
}
