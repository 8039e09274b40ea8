package import BalloonPOSIX
package import BusinessMessages

/// A queued reply that was leased for an attempt to send it.
package struct OutboxEntry: Sendable {
    /// Whether the customer has closed the conversation.
    package enum Closure: Sendable {
        /// The customer wrote last.
        case open
        /// The customer closed it and has not written since.
        case closed
        /// Only the conversation's file can tell.
        case unknown
    }

    /// Its name.
    package let id: ReplyID
    /// The business that sends it.
    package let business: BusinessID
    /// The customer whom it is for.
    package let customer: CustomerID
    /// The message's id, kind and bytes, the same in every attempt.
    package let reply: DecidedReply
    /// The id of the message that it answers; nil for a message of the business's own accord.
    package let inReplyTo: MessageID?
    /// When it was decided.
    package let decidedAt: Timestamp
    /// How many attempts were made before this one.
    package let attempts: Int
    /// Whether a person, not a program, wrote it.
    package let isFromPerson: Bool
    /// What came beside the message that it answers.
    package let attributes: ReceivedAttributes
    /// Whether it answers the failure of another reply, so that its own is reported to nobody.
    let answersFailure: Bool
    /// Whether the customer has closed the conversation.
    package let closure: Closure
    /// Whether it was decided before the store was opened.
    package let isRecovered: Bool

    /// The customer's `capability-list`, when one came with the message that it answers.
    package var capabilityList: String? { attributes.capabilityList }

    /// Whether the handler that decided it may be told of its failure: it answers a message of the customer's.
    package var isReportable: Bool { inReplyTo != nil && !answersFailure }

    var conversation: ConversationKey { ConversationKey(business: business, customer: customer) }
}
