/// The reason why a message that answers no event was refused.
public enum HandlerHostError: Error, Hashable, Sendable, LoggableError {
    /// The key is empty or longer than 200 bytes; correct the handler.
    case unusableKey
    /// The customer's identifier is empty, longer than 512 bytes, or has a control character; correct the handler.
    case unusableCustomer
    /// Apple would refuse the message, because it breaks the rules in the refusal; correct the handler.
    case unusableMessage(AnswerRefusal)
    /// A person answers the conversation, or the conversation waits for a person.
    ///
    /// Drop the message, or send it with the outcome of the event that has ``Context/afterPerson``.
    case withPerson
    /// The customer has not written lately, and has not agreed to the message; the text says what is missing.
    ///
    /// Name the message's `purpose`, or drop the message.
    case noConsent(String)
    /// The handler belongs to an app of the App Store, which has no conversations; correct the handler.
    case noConversations
    /// The message could not be written to disk, too many messages of the business wait to be sent, or the server is
    /// stopping; try again with the same key.
    case notStored

    /// The failure, as a phrase.
    public var reason: String {
        switch self {
        case .unusableKey: "the key must have 1 to 200 bytes"
        case .unusableCustomer: "the customer's identifier must have 1 to 512 bytes and no control characters"
        case .unusableMessage(let refusal): refusal.reason
        case .withPerson:
            "a person has the conversation; drop the message, or send it with the event that has afterPerson"
        case .noConsent(let reason): reason
        case .noConversations: "the handler of an app has no conversations"
        case .notStored: "the message was not stored, because of the disk or because too many wait to be sent"
        }
    }
}
