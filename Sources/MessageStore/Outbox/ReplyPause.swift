package import BalloonPOSIX
package import BusinessMessages

/// The begin of the time in which a customer sees that somebody types, before an automatic message.
package struct ReplyPause: Hashable, Sendable {
    /// The sending business.
    package let business: BusinessID
    /// The receiving customer.
    package let customer: CustomerID
    /// The time in ``SteadyClock`` at which the message is sent.
    package let due: Timestamp

    var conversation: ConversationKey { ConversationKey(business: business, customer: customer) }
}
