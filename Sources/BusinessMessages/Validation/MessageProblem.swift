/// Something that is wrong with an outbound message.
public struct MessageProblem: Hashable, Sendable {
    /// What becomes of a message that breaks a rule.
    public enum Severity: String, Sendable {
        /// Apple refuses it.
        case error
        /// Apple accepts it, but the device shows something else than was meant.
        case warning
    }

    /// The rule that is broken.
    public let rule: MessageRule
    /// The place, as a JSON Pointer (RFC 6901); a member that is missing is named as if it were there.
    public let pointer: String
    /// The line of the place, from 1; that of the object where a member is missing.
    public let line: Int
    /// The column of the place in Unicode scalars, from 1.
    public let column: Int
    /// What stands there, shortened.
    public let found: String
    /// What may stand there.
    public let allowed: String
    /// The passage that says so.
    public let passage: String

    /// What becomes of the message.
    public var severity: Severity { rule.severity }
}

extension MessageProblem: CustomStringConvertible {
    /// One line for people: the place, what was found and what is allowed.
    public var description: String {
        "\(severity): \(pointer.isEmpty ? "/" : pointer): \(rule.rawValue): found \(found), allowed \(allowed)"
            + " (\(passage))"
    }
}

extension Sequence<MessageProblem> {
    /// Whether Apple would refuse the message.
    public var hasErrors: Bool { contains { $0.severity == .error } }
}
