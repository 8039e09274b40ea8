/// A problem in an outbound message.
public struct MessageProblem: Hashable, Sendable {
    /// The consequence of a broken rule.
    public enum Severity: String, Sendable {
        /// Apple refuses the message, or Apple's documents forbid it.
        case error
        /// Apple accepts the message, but the device shows it wrongly.
        case warning
    }

    /// The broken rule.
    public let rule: MessageRule
    /// The place as a JSON Pointer (RFC 6901); for a missing member, the place where it belongs.
    public let pointer: String
    /// The line of the place, from 1; for a missing member the line of its object.
    public let line: Int
    /// The column of the place in Unicode scalars, from 1.
    public let column: Int
    /// The found value, shortened.
    public let found: String
    /// The allowed values.
    public let allowed: String
    /// The passage of the documentation that contains the rule.
    public let passage: String

    /// The consequence for the message.
    public var severity: Severity { rule.severity }
}

extension MessageProblem: CustomStringConvertible {
    /// One line for people: the place, the found value and the allowed values.
    public var description: String {
        "\(severity): \(pointer.isEmpty ? "/" : pointer): \(rule.rawValue): found \(found), allowed \(allowed)"
            + " (\(passage))"
    }
}

extension Sequence<MessageProblem> {
    /// Whether Apple would refuse the message.
    public var hasErrors: Bool { contains { $0.severity == .error } }
}
