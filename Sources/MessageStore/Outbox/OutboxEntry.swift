package import BalloonPOSIX
package import BusinessMessages

/// A queued reply leased for an attempt to send it.
package struct OutboxEntry: Sendable {
    /// The reply's identity, such as `57.1`.
    package let id: ReplyID
    /// The sending business.
    package let business: BusinessID
    /// The receiving customer.
    package let customer: CustomerID
    /// The message's id, kind and bytes, the same in every attempt.
    package let reply: DecidedReply
    /// The id of the answered message; nil for a proactive message.
    package let inReplyTo: MessageID?
    /// The time of the decision.
    package let decidedAt: Timestamp
    /// The number of earlier attempts.
    package let attempts: Int
    /// The author, if the record names one.
    package let author: MessageAuthor?
    /// The time after which it is not sent; nil for none.
    package var until: Timestamp?
    /// The attributes of the answered message.
    package let attributes: ReceivedAttributes
    /// Whether the reply answers another reply's failure; its own failure is then not reported.
    let answersFailure: Bool
    /// Whether the reply was decided before the store was opened.
    package let isRecovered: Bool

    /// Whether a person, not a program, wrote it.
    package var isFromPerson: Bool { author?.isPerson ?? false }

    /// The customer's `capability-list`, if the answered message had one.
    package var capabilityList: String? { attributes.capabilityList }

    /// Whether a failure is reported to the handler that decided the reply.
    ///
    /// That is so only for a reply to a customer's message, and not for the server's text before it.
    package var isReportable: Bool { inReplyTo != nil && !answersFailure && reply.author == nil }

    var conversation: ConversationKey { ConversationKey(business: business, customer: customer) }
}
