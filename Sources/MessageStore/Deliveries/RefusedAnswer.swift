/// A handler's answer that breaks a rule.
package struct RefusedAnswer: Hashable, Sendable {
    /// The first broken rule as a sentence, which quotes no text of the answer.
    package let reason: String
    /// Every broken rule: `[{"rule":"…","pointer":"…","found":"…","allowed":"…","passage":"…"}]`.
    package let problems: [UInt8]

    /// Describes a refused answer by a sentence and a JSON list of objects.
    package init(reason: String, problems: [UInt8]) {
        self.reason = reason
        self.problems = problems
    }
}
