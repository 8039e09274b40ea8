public import HandlerKit

/// Why a handler's answer would not have reached a customer; its author corrects it.
public enum TestConversationError: Error, Hashable, Sendable {
    /// The handler does not conform to the protocol of the message's kind, or not to `ReplyFailedHandler`.
    case notSubscribed
    /// The handler gave another outcome than replies.
    case notHandled(Outcome)
    /// Apple would refuse a reply, or the customer's device cannot show it: all that is wrong with it.
    case unusableReply(index: Int, problems: [MessageProblem])
    /// The handler has not replied yet, so that no reply can fail.
    case noReply
    /// What the handler wants to remember has more than `ConversationState.maximumBytes`.
    case stateTooLarge
}
