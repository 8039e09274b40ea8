public import HandlerKit

/// The reason why a handler's answer would not reach a customer, for its author to correct.
public enum TestConversationError: Error, Hashable, Sendable {
    /// The handler does not conform to the protocol of the message's kind, or not to `ReplyFailedHandler`.
    case notSubscribed
    /// The handler returned an outcome other than replies.
    case notHandled(Outcome)
    /// Apple would refuse a reply, or the customer's device cannot show it; lists all problems.
    case unusableReply(index: Int, problems: [MessageProblem])
    /// The handler has not replied yet, so no reply can fail.
    case noReply
    /// The handler's state exceeds `ConversationState.maximumBytes`.
    case stateTooLarge
}
