import HandlerKit

/// A violation of the protocol; the side that wrote the line is always at fault.
package enum HandlerProtocolError: Error, Hashable, Sendable {
    /// A member is missing or of the wrong type; the payload is its name.
    case malformed(String)
    /// The handler supports no version that the server offered.
    case unsupportedVersion
    /// The handler names a kind that does not exist.
    case unknownKind
    /// A business may not send this reply; the payload is its index, from 0.
    case unusableReply(Int)
    /// An answer has more than ``ProtocolVersion/maximumReplies``.
    case tooManyReplies
    /// A state has more bytes than `ConversationState.maximumBytes`.
    case stateTooLarge
}

extension HandlerProtocolError: CustomStringConvertible {
    /// The violation as a phrase, for the log and for the handler's author.
    package var description: String {
        switch self {
        case .malformed(let member): "\"\(member)\" is missing or of the wrong type"
        case .unsupportedVersion: "the protocol version is not \"\(ProtocolVersion.current)\""
        case .unknownKind: "\"events\" names an unknown kind"
        case .unusableReply(let index): "replies[\(index)] is not a message that a business may send"
        case .tooManyReplies: "more than \(ProtocolVersion.maximumReplies) replies"
        case .stateTooLarge: "\"state\" has more than \(ConversationState.maximumBytes) bytes"
        }
    }
}
