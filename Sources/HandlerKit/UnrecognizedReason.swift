/// The reason why the server does not recognize a message; the handler gets its raw JSON.
public enum UnrecognizedReason: String, Sendable, CaseIterable {
    /// Apple deleted the referenced payload before it could be downloaded: the customer's choice is lost.
    case expiredReference
    /// The referenced payload could not be downloaded or decoded.
    case failedReference
    /// This version of the server does not know the kind.
    case unknownKind
    /// The message has more parts than the server decodes.
    case tooManyParts
}
