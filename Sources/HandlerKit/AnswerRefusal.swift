public import BusinessMessages

/// The reason why the server refuses a handler's answer, or a message that answers no event.
///
/// A single problem refuses the whole answer: none of its replies is sent. The event becomes a dead letter at
/// once, because the handler would give the same answer at the next attempt.
public struct AnswerRefusal: Error, Hashable, Sendable, LoggableError {
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

    /// Creates a refusal from an error that a handler threw; nil when the error is not about a message.
    ///
    /// The pointers are relative to the message, because only an answer has replies.
    package init?(thrown error: any Error) {
        if let refusal = error as? AnswerRefusal {
            self = refusal
        } else if let error = error as? InvalidMessage {
            self.init(error.problems, at: "")
        } else if let error = error as? CompositionError {
            self.init([Problem(error)])
        } else {
            return nil
        }
    }

    /// All problems in one text for the handler's author; it may contain text of the answer.
    public var explanation: String { problems.map(\.text).joined(separator: "; ") }

    /// The rule and the place of the first problem, and the number of further problems.
    ///
    /// Nothing of the answer is quoted, because it may repeat what a customer wrote: a number and the name of a
    /// member are texts of the answer too.
    public var reason: String {
        guard let first = problems.first else { return "the answer was refused" }
        let others = problems.count > 1 ? ", and \(problems.count - 1) more" : ""
        return "the answer was refused: rule \(first.rule) at \(first.place) (\(first.passage))" + others
    }
}

extension AnswerRefusal.Problem: JSONWritable {
    /// Describes the part of a quick reply that Apple would refuse.
    fileprivate init(_ error: CompositionError) {
        let (rule, place, found): (MessageRule, String, String) =
            switch error {
            case .itemCount(let count): (.quickReplyCount, "/items", "\(count) items")
            case .emptySummary: (.empty, "/summaryText", "an empty text")
            case .emptyIdentifier(let item): (.empty, "/items/\(item)/identifier", "an empty text")
            case .emptyTitle(let item): (.empty, "/items/\(item)/title", "an empty text")
            case .repeatedIdentifier(let item):
                (.quickReplyIdentifiers, "/items/\(item)/identifier", "the same again")
            }
        let allowed =
            switch rule {
            case .quickReplyCount: "2 to 5 items"
            case .quickReplyIdentifiers: "each identifier once"
            default: "a text that is not empty"
            }
        self.init(
            rule: rule.rawValue, pointer: "/interactiveData/data/quick-reply" + place, found: found,
            allowed: allowed, passage: "Apple MSP API, \"Quick Reply Message\"")
    }

    /// Writes the object `{"rule": "…", "pointer": "…", "found": "…", "allowed": "…", "passage": "…"}`.
    package func write(to writer: inout JSONWriter) {
        writer.object([
            "rule": rule, "pointer": pointer, "found": found, "allowed": allowed, "passage": passage,
        ])
    }

    /// ``pointer`` in a form for the log: the names of Apple's and the protocol's members and the positions in
    /// lists, such as `/replies/2/interactiveData/data/quick-reply/items`.
    ///
    /// The first other name is `…`, and ends the place: an author may have it from a customer.
    package var place: String {
        var place = ""
        var isInList = false
        for name in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let isPosition =
                isInList && (1...4).contains(name.utf8.count) && name.utf8.allSatisfy(Self.isDigit)
            // Only the server writes the member `file`, so no schema has it.
            guard isPosition || Self.memberNames.contains(name) || name == "file" else { return place + "/…" }
            place += "/" + name
            isInList = Self.listNames.contains(name)
        }
        return place.isEmpty ? "/" : place
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    fileprivate var text: String {
        "rule \(rule) at \(pointer.isEmpty ? "/" : pointer): found \(found), allowed \(allowed) (\(passage))"
    }
}
