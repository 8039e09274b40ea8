package import BalloonPOSIX
package import BusinessMessages

/// A message as it came in, or that goes out unasked, ready for the journal.
package struct ReceivedMessage: Sendable {
    /// The business it is for.
    package let business: BusinessID
    /// The customer it is from.
    package let customer: CustomerID
    /// The identity by which a repetition is recognised.
    package let id: MessageID
    /// What came beside the message.
    package let attributes: ReceivedAttributes
    /// The message: a valid JSON object, kept verbatim except that line breaks between tokens become spaces.
    package let message: [UInt8]
    /// Whether the message points to a payload that must be fetched before it can be delivered.
    package let hasPayloadReference: Bool
    /// The kind of a message from the business that answers no event; nil for what a customer sent.
    ///
    /// It keeps its place in the conversation's order, is sent as it is, and no handler sees it.
    package let outboundKind: Kind?
    /// Whether a person, not a program, wrote what goes out unasked.
    package let isFromPerson: Bool
    /// What the customer does with it.
    package let act: Act
    /// When it came in.
    package let receivedAt: Timestamp

    /// What a message is to the conversation: after `closes` nothing is sent until the customer `writes` again.
    package enum Act: String, Sendable {
        /// The customer says something.
        case writes
        /// The customer closes the conversation.
        case closes
        /// The customer begins or stops typing.
        case neither

        /// Reads the body's `type`.
        package init(type: String?) {
            switch type {
            case "close": self = .closes
            case "typing_start", "typing_end": self = .neither
            default: self = .writes
            }
        }
    }

    /// Takes a message whose JSON was validated.
    package init(
        business: BusinessID, customer: CustomerID, id: MessageID, attributes: ReceivedAttributes = .init(),
        message: [UInt8], hasPayloadReference: Bool = false, outboundKind: Kind? = nil,
        isFromPerson: Bool = false, act: Act = .writes, receivedAt: Timestamp = .now()
    ) {
        self.business = business
        self.customer = customer
        self.id = id
        self.attributes = attributes
        self.message = message
        self.hasPayloadReference = hasPayloadReference
        self.outboundKind = outboundKind
        self.isFromPerson = isFromPerson
        self.act = act
        self.receivedAt = receivedAt
    }
}

/// What came beside a message, in headers or body, as it was spelled there.
///
/// In the journal `{"capabilityList":"QUICK,LIST","locale":"en_US","intent":"…","group":"…"}`; what did not
/// come is left out.
package struct ReceivedAttributes: Sendable, Hashable {
    /// The header `capability-list`.
    package var capabilityList: String?
    /// The customer's locale, for example `en_US`.
    package var locale: String?
    /// The intent that the conversation was started with.
    package var intent: String?
    /// The group that the conversation was started with.
    package var group: String?

    /// Takes what came.
    package init(
        capabilityList: String? = nil, locale: String? = nil, intent: String? = nil, group: String? = nil
    ) {
        self.capabilityList = capabilityList
        self.locale = locale
        self.intent = intent
        self.group = group
    }

    var isEmpty: Bool { capabilityList == nil && locale == nil && intent == nil && group == nil }
}

/// What became of a message that was appended.
package enum AppendResult: Hashable, Sendable {
    /// It is on disk and will be delivered.
    case stored
    /// A message with its identity is on disk already.
    case duplicate
    /// It is not kept; the sender must try again.
    case failed(StoreError)
}

/// Is called once with what became of a message.
package typealias AppendCompletion = @Sendable (AppendResult) -> Void
