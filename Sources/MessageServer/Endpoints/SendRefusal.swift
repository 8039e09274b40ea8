package import BalloonPOSIX
package import BusinessMessages

/// Why a message that a business wants to send is not even tried: whoever wrote it corrects it.
package enum SendRefusal: Error, Sendable, Equatable {
    /// What is asked for is no request; a newer program than the server's asks.
    case malformed
    /// Apple would refuse the message: the problems say where and why.
    case invalid([MessageProblem])
    /// The customer's identifier has not 1 to 512 bytes, or a control character in it.
    case customerMalformed
    /// The business is none of the server's.
    case businessUnknown
    /// Files go with a plain text without attachments of its own, and with nothing else.
    case filesNotWithText
    /// A file that is to go with it cannot be read, or has too many bytes.
    case fileUnreadable(SystemError)

    /// One line for a person.
    package var reason: String {
        switch self {
        case .malformed: "the request is malformed"
        case .invalid(let problems): problems.map(\.description).joined(separator: "; ")
        case .customerMalformed: "the customer is no identifier of 1 to 512 bytes"
        case .businessUnknown: "the server has no such business"
        case .filesNotWithText: "files go with a plain text only"
        case .fileUnreadable(let error): "a file cannot be sent: \(error)"
        }
    }
}
