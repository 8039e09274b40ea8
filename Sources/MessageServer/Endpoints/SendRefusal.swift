package import BalloonPOSIX
package import BusinessMessages
package import MessageStore

/// The reason why a message is refused before any attempt, for its author to correct.
package enum SendRefusal: Error, Sendable, Equatable {
    /// The request is not understood; it may come from a newer program than the server.
    case malformed
    /// Apple would refuse the message: the problems contain place and reason.
    case invalid([MessageProblem])
    /// The customer's identifier is empty, longer than 512 bytes, or contains a control character.
    case customerMalformed
    /// The server has no such business.
    case businessUnknown
    /// Files are allowed only with a plain text without attachments.
    case filesNotWithText
    /// The file at this place of the message is unreadable or too large.
    case fileUnreadable(SystemError, attachment: Int)
    /// The attachment at this place has the member `file`, which only the server may write.
    case storedFileNamed(attachment: Int)
    /// The customer's device cannot show the message, which has no text to send instead.
    case unsupported(UnsupportedMessage)
    /// An earlier request with the same key had another content.
    case keyReused
    /// The customer has not written lately, and has not agreed to the message.
    case noConsent(NoConsent)
    /// The assignment of the conversation does not allow the message.
    case assignment(AssignmentRefusal)

    /// One line for people.
    package var reason: String {
        switch self {
        case .malformed: "the request is malformed"
        case .invalid(let problems): problems.map(\.description).joined(separator: "; ")
        case .customerMalformed: "the customer is not an identifier of 1 to 512 bytes"
        case .businessUnknown: "the server has no such business"
        case .filesNotWithText: "files are allowed with a plain text only"
        case .fileUnreadable(let error, _): "a file cannot be sent: \(error)"
        case .storedFileNamed(let index):
            "attachment \(index) has the member file, which only the server writes"
        case .unsupported(let message):
            "the customer's device lacks \(message.missing.rawValue): add a text in \"fallback\""
        case .keyReused: "an earlier request with the same key had another content"
        case .noConsent(let refusal): refusal.reason
        case .assignment(let refusal): "\(refusal)"
        }
    }
}
