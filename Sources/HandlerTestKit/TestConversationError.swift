public import HandlerKit

/// The reason why a handler's answer would not reach a customer, for the author of the handler.
public enum TestConversationError: Error, Hashable, Sendable {
    /// The handler does not conform to the protocol of the message's kind, or to `ReplyFailedHandler` for a
    /// failed reply.
    case notSubscribed
    /// The handler returned an outcome other than replies.
    case notHandled(Outcome)
    /// Apple would refuse the reply at this index, or the customer's device cannot show it; lists all
    /// problems.
    case unusableReply(index: Int, problems: [MessageProblem])
    /// The handler has not replied yet, so no reply can fail.
    case noReply
    /// The handler's state exceeds `ConversationState.maximumBytes`.
    case stateTooLarge
}
