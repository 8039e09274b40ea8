/// Why a message that answers no event was not taken.
public enum HandlerHostError: Error, Hashable, Sendable {
    /// The key has no byte or more than 200; the handler corrects it.
    case unusableKey
    /// The customer's identifier has no byte or more than 512; the handler corrects it.
    case unusableCustomer
    /// Apple would refuse the message: the rule that it breaks; the handler corrects it.
    case unusableMessage(rule: String)
    /// It could not be written to disk, or the server stops; the handler tries again with the same key.
    case notStored
}

extension HandlerHostError: LoggableError {
    /// What happened, as a phrase.
    public var reason: String {
        switch self {
        case .unusableKey: "the key must have 1 to 200 bytes"
        case .unusableCustomer: "the customer's identifier must have 1 to 512 bytes"
        case .unusableMessage(let rule): "the message breaks the rule \(rule)"
        case .notStored: "the message could not be written to disk"
        }
    }
}
