package import BalloonPOSIX
package import BusinessMessages

/// A durable change that programs outside the server can follow.
///
/// It is made from one record of the journal. An event of a message is also made from the line in the
/// conversation's file.
package struct StoreEvent: Sendable, Hashable {
    /// The types of events.
    package enum Name: String, Sendable, CaseIterable {
        /// A customer's message is in its conversation.
        case messageReceived = "message.received"
        /// A message to the customer waits to be sent.
        case messageQueued = "message.queued"
        /// The gateway accepted a message to the customer.
        case messageAccepted = "message.accepted"
        /// A message to the customer was refused, expired or was dropped.
        case messageFailed = "message.failed"
        /// An attempt failed; the message is retried later, and its conversation continues without it.
        case deliveryParked = "delivery.parked"
        /// The delivery of a message failed; an operator decides about it.
        case deliveryDeadLetter = "delivery.deadLetter"
        /// A message to the customer was refused or expired; an operator decides about it.
        case replyDeadLetter = "reply.deadLetter"
        /// The conversation waits for a person.
        case conversationHandedOff = "conversation.handedOff"
        /// A person answers in the conversation.
        case conversationClaimed = "conversation.claimed"
        /// The waiting conversation entered a queue.
        case conversationQueued = "conversation.queued"
        /// The waiting conversation is offered to a person, or the person declined.
        case conversationOffered = "conversation.offered"
        /// The person has put the conversation aside, or not any more.
        case conversationSnoozed = "conversation.snoozed"
        /// The person released the conversation or was inactive, or the wait for a person ended.
        case conversationReleased = "conversation.released"
        /// A note, or a change of what is known about the customer, is in the conversation.
        case conversationNoted = "conversation.noted"
        /// The customer or the business closed the conversation.
        case conversationClosed = "conversation.closed"
    }

    /// The identity of an event, which stays the same when the event is sent again.
    package struct Key: Sendable, Hashable, CustomStringConvertible {
        /// The number of the record that the event is made from.
        package let record: UInt64
        /// The place of the event among those of the record, from 0.
        package let ordinal: Int

        /// `57.0`.
        package var description: String { "\(record).\(ordinal)" }
    }

    /// The maximum size of a line in an event, in bytes; a larger line is omitted.
    package static let maximumLineBytes = 32 << 10

    /// The identity.
    package let key: Key
    /// The time of the change.
    package var at: Timestamp
    /// The type.
    package internal(set) var name: Name
    /// The business of the conversation.
    package let business: BusinessID
    /// The SHA-256 of the customer in hexadecimal, which names the conversation's file.
    package let conversation: String
    /// The kind of the message; nil when it is not known.
    package var kind: Kind?
    /// The message's id; nil when only the message's line has the id.
    package var message: MessageID?
    /// The record of the message whose delivery failed.
    package var delivery: UInt64?
    /// The number of the message's line in its conversation; nil without a line, or when it was not written.
    package var sequence: Int?
    /// The line as its file has it, without its line feed.
    package var line: [UInt8]?
    /// Whether the line is omitted, because it is larger than ``maximumLineBytes`` or could not be read.
    package var isTruncated = false
    /// The outcome of a failed reply: `refused`, `expired`, `dropped` or `failed`.
    package var outcome: String?
    /// The gateway's HTTP status, if it answered.
    package var status: Int?
    /// The reason, if it is known; it contains no customer text.
    package var reason: String?
    /// The new assignment of the conversation, if that is the change.
    ///
    /// A claim by a message only has the state and the person.
    package var assignment: Assignment?
    /// The customer and the business of the conversation.
    let conversationKey: ConversationKey
    /// The line that the event still lacks; nil when it has its line or needs none.
    var missingLine: LineIdentity?

    init(_ key: Key, _ name: Name, in conversation: ConversationKey, at: Timestamp, kind: Kind? = nil) {
        self.key = key
        self.name = name
        self.at = at
        conversationKey = conversation
        business = conversation.business
        self.conversation = ConversationPath.name(of: conversation.customer)
        self.kind = kind
    }
}

/// An event with its place: every event of the records up to ``through`` was sent by then.
package struct PlacedEvent: Sendable, Hashable {
    /// The event.
    package var event: StoreEvent
    /// The last record of which every event was sent, with this event or before it.
    package let through: UInt64
}
