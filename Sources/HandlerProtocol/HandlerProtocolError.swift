import HandlerKit

/// How a line breaks the protocol; always the fault of the side that wrote it.
package enum HandlerProtocolError: Error, Hashable, Sendable {
    /// A member is missing or of the wrong type; the payload is its name.
    case malformed(String)
    /// The handler speaks none of the versions that the server offered.
    case unsupportedVersion
    /// The handler names a kind that there is not.
    case unknownKind
    /// A reply is none that a business may send; the payload is its place, from 0.
    case unusableReply(Int)
    /// An answer has more than ``ProtocolVersion/maximumReplies``.
    case tooManyReplies
    /// A state has more bytes than `ConversationState.maximumBytes`.
    case stateTooLarge
}

extension HandlerProtocolError: CustomStringConvertible {
    /// A phrase for the log and for the handler's author.
    package var description: String {
        switch self {
        case .malformed(let member): "\"\(member)\" is missing or of the wrong type"
        case .unsupportedVersion: "the protocol version is not \"\(ProtocolVersion.current)\""
        case .unknownKind: "\"events\" names an unknown kind"
        case .unusableReply(let index): "replies[\(index)] is no message that a business may send"
        case .tooManyReplies: "more than \(ProtocolVersion.maximumReplies) replies"
        case .stateTooLarge: "\"state\" has more than \(ConversationState.maximumBytes) bytes"
        }
    }
}
