package import HandlerKit

/// A violation of the protocol outside the answers to events; the side that wrote the line is always at fault.
package enum HandlerProtocolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The member with this name is missing or of the wrong type.
    case malformed(String)
    /// The handler supports no version that the server offered.
    case unsupportedVersion
    /// The handler names a kind that does not exist, which is the associated text.
    case unknownKind(String)
    /// The message of a `reply` call breaks a rule for messages to customers.
    case refused(AnswerRefusal)

    /// The violation as a phrase, for the log and for the handler's author.
    package var description: String {
        switch self {
        case .malformed(let member): "\"\(member)\" is missing or of the wrong type"
        case .unsupportedVersion: "the protocol version is not \"\(ProtocolVersion.current)\""
        case .unknownKind(let name):
            "\"events\" names \"\(name.shortened(toBytes: 40))\", which is no kind; the kinds are "
                + Subscription.all.map(\.name).joined(separator: " ")
        case .refused(let refusal): refusal.explanation
        }
    }
}
