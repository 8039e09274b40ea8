public import BusinessMessages

/// The reason why the server refuses a handler's answer, or a message that answers no event.
///
/// A single problem refuses the whole answer: none of its replies is sent. The event becomes a dead letter at
/// once, because the handler would give the same answer at the next attempt.
public struct AnswerRefusal: Error, Hashable, Sendable {
    /// A broken rule.
    public struct Problem: Hashable, Sendable {
        /// The name of the rule: a `MessageRule`, or a rule of the handler protocol.
        public let rule: String
        /// The place in the answer, as a JSON Pointer (RFC 6901).
        public let pointer: String
        /// The found value, shortened; it may contain text of the answer.
        public let found: String
        /// The allowed values.
        public let allowed: String
        /// The passage of the documentation that contains the rule.
        public let passage: String

        /// Describes a broken rule.
        public init(rule: String, pointer: String, found: String, allowed: String, passage: String) {
            self.rule = rule
            self.pointer = pointer
            self.found = found
            self.allowed = allowed
            self.passage = passage
        }

        /// Describes a problem of a message at `pointer` in the answer.
        public init(_ problem: MessageProblem, at pointer: String) {
            self.init(
                rule: problem.rule.rawValue, pointer: pointer + problem.pointer, found: problem.found,
                allowed: problem.allowed, passage: problem.passage)
        }
    }

    /// The problems in the order of the answer; at least one.
    public let problems: [Problem]

    /// Creates a refusal with these problems; there must be at least one.
    public init(_ problems: [Problem]) { self.problems = problems }

    /// Creates a refusal from the errors among `problems` of the message at `pointer`.
    ///
    /// Returns nil when there is no error, so that Apple would accept the message.
    public init?(_ problems: [MessageProblem], at pointer: String) {
        let errors = problems.filter { $0.severity == .error }
        if errors.isEmpty { return nil }
        self.init(errors.map { Problem($0, at: pointer) })
    }

    /// All problems in one text for the handler's author; it may contain text of the answer.
    public var explanation: String { problems.map { $0.text(found: $0.found) }.joined(separator: "; ") }
}

extension AnswerRefusal: LoggableError {
    /// The first problem, and the number of further problems; quoted texts are omitted, because customers may
    /// be quoted.
    public var reason: String {
        guard let first = problems.first else { return "the answer was refused" }
        let others = problems.count > 1 ? ", and \(problems.count - 1) more" : ""
        return "the answer was refused: " + first.text(found: first.loggableFound) + others
    }
}

extension AnswerRefusal.Problem {
    /// Writes the object `{"rule": "…", "pointer": "…", "found": "…", "allowed": "…", "passage": "…"}`.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("rule", rule)
            writer.field("pointer", pointer)
            writer.field("found", found)
            writer.field("allowed", allowed)
            writer.field("passage", passage)
        }
    }

    /// ``found`` in a form for the log: the length of a quoted text, or at most 60 characters of another value.
    package var loggableFound: String {
        guard found.hasPrefix("\"") else { return String(found.prefix(60)) }
        let count = found.count - 2
        return found.hasSuffix("…\"")
            ? "a text of more than \(count - 1) characters"
            : "a text of \(count) character\(count == 1 ? "" : "s")"
    }

    fileprivate func text(found: String) -> String {
        "rule \(rule) at \(pointer.isEmpty ? "/" : pointer): found \(found), allowed \(allowed) (\(passage))"
    }
}
