import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// An inbound or proactive message, ready for the journal.
package struct ReceivedMessage: Sendable {
    /// The business of the conversation.
    package let business: BusinessID
    /// The customer of the conversation.
    package let customer: CustomerID
    /// The message's id, by which a copy of the message is detected.
    package let id: MessageID
    /// The attributes of the message.
    package let attributes: ReceivedAttributes
    /// The message: a valid JSON object as received, except that line breaks between tokens become spaces in
    /// the journal.
    package let message: [UInt8]
    /// Whether the message has a payload reference that must be resolved before the delivery.
    package let hasPayloadReference: Bool
    /// The kind of a proactive message; nil for a customer's message.
    ///
    /// A proactive message keeps its place in the conversation's order, is sent unchanged, and no handler
    /// receives it.
    package let outboundKind: Kind?
    /// The author of a proactive message; nil for a customer's message, and when an earlier version stored
    /// the message.
    package let author: MessageAuthor?
    /// The SHA-256 of the API request that sent a proactive message, in hexadecimal; nil for other messages.
    ///
    /// It shows whether a repeated request has the same content.
    package let requestDigest: String?
    /// The time after which a proactive message is not sent; nil for none.
    package let until: Timestamp?
    /// The message's effect on the conversation.
    package let act: Act
    /// The record of the change of an assignment whose line this is; nil for another message.
    let change: UInt64?
    /// The arrival time.
    package let receivedAt: Timestamp

    /// The effect of a message on the conversation.
    ///
    /// After `closes`, nothing is sent to the customer until the customer `writes` again.
    package enum Act: String, Sendable {
        /// The customer sends content.
        case writes
        /// The customer closes the conversation.
        case closes
        /// The customer starts or stops typing, or answers a ``ServerQuestion``, which does not change the conversation.
        case neither
        /// A record for people about the conversation, such as a note; see ``InternalMessage``.
        ///
        /// It does not change whether the conversation is closed, and is never sent.
        case `internal`

        /// Whether the act decides if the conversation is closed.
        var opensOrCloses: Bool { self == .writes || self == .closes }

        /// Derives the effect from the body's `type`.
        package init(type: String?) {
            switch type {
            case "close": self = .closes
            case "typing_start", "typing_end": self = .neither
            default: self = .writes
            }
        }

        /// Reads the member `act` of a journal record, which only another effect than `writes` has.
        init(record: JSONValue) {
            self = record["act"]?.string.flatMap { Self(rawValue: $0) } ?? .writes
        }
    }

    /// Creates a message from validated JSON.
    package init(
        business: BusinessID, customer: CustomerID, id: MessageID, attributes: ReceivedAttributes = .init(),
        message: [UInt8], hasPayloadReference: Bool = false, outboundKind: Kind? = nil,
        author: MessageAuthor? = nil, requestDigest: String? = nil, until: Timestamp? = nil,
        act: Act = .writes, change: UInt64? = nil, receivedAt: Timestamp = .now()
    ) {
        self.until = until
        self.business = business
        self.customer = customer
        self.id = id
        self.attributes = attributes
        self.message = message
        self.hasPayloadReference = hasPayloadReference
        self.outboundKind = outboundKind
        self.author = author
        self.requestDigest = requestDigest
        self.act = act
        self.change = change
        self.receivedAt = receivedAt
    }

    /// Reads what ``record`` has; nil for other bytes.
    package init?(record bytes: [UInt8]) {
        guard let root = try? JSONDocument(bytes, limits: .journal).root,
            let business = root["business"]?.string,
            let customer = root["customer"]?.string, let id = root["id"]?.string,
            let at = root.timestamp("at"), let message = root["message"]
        else { return nil }
        self.init(
            business: BusinessID(business), customer: CustomerID(customer), id: MessageID(id),
            attributes: ReceivedAttributes(root["attributes"]), message: Array(message.text),
            hasPayloadReference: root["reference"]?.bool ?? false, act: Act(record: root), receivedAt: at)
    }

    /// A customer's message with its payload in place of the reference; nil without a payload.
    package func resolved(_ resolution: Resolution) -> ReceivedMessage? {
        guard case .resolved(let message) = resolution else { return nil }
        return ReceivedMessage(
            business: business, customer: customer, id: id, attributes: attributes, message: message,
            act: resolution.act(of: business, customer), receivedAt: receivedAt)
    }

    /// A customer's message in the form of a journal record, for a server that takes it for another one.
    package var record: [UInt8] { JournalBody.message(self).body }

    /// The message's identity in the deduplication index; each call computes a hash.
    var key: MessageKey { MessageKey(business: business, id: id) }
    /// The message's conversation; each call computes a hash.
    var conversation: ConversationKey { ConversationKey(business: business, customer: customer) }
}

/// The attributes of a message from its headers or its body, in their original spelling.
///
/// In the journal they are `{"capabilityList":"QUICK,LIST","locale":"en_US","intent":"…","group":"…"}`;
/// attributes that the message lacks are omitted.
package struct ReceivedAttributes: Sendable, Hashable {
    /// The header `capability-list`.
    package var capabilityList: String?
    /// The customer's locale, for example `en_US`.
    package var locale: String?
    /// The intent named by the link that opened the conversation.
    package var intent: String?
    /// The group named by the link that opened the conversation.
    package var group: String?
    /// The header `version`.
    package var version: String?
    /// The header `device-agent`.
    package var deviceAgent: String?

    /// Creates attributes.
    package init(
        capabilityList: String? = nil, locale: String? = nil, intent: String? = nil, group: String? = nil,
        version: String? = nil, deviceAgent: String? = nil
    ) {
        self.capabilityList = capabilityList
        self.locale = locale
        self.intent = intent
        self.group = group
        self.version = version
        self.deviceAgent = deviceAgent
    }

    var isEmpty: Bool {
        capabilityList == nil && locale == nil && intent == nil && group == nil && version == nil
            && deviceAgent == nil
    }
}

/// The result of appending a message.
package enum AppendResult: Hashable, Sendable {
    /// The message is on disk and will be delivered.
    case stored
    /// A message with the same identity is on disk already.
    case duplicate
    /// The message does not count as stored; the sender must try again.
    ///
    /// When the process crashes right after ``StoreError/notDurable(_:)``, the message may be on disk
    /// nevertheless. It is then delivered, and the sender's next attempt is a duplicate.
    case failed(StoreError)
}

/// A completion that is called once with the result of appending.
package typealias AppendCompletion = @Sendable (AppendResult) -> Void
