/// Who answers while a business's handler is down.
///
/// `{"text": "An agent will reply soon.", "afterSeconds": 120}` or `{"handler": {"builtin": "…"}, "afterSeconds": 120}`.
package struct FallbackConfiguration: Sendable {
    /// One of the two.
    package enum Answer: Sendable {
        /// A text, said once until something else was said.
        case text(String)
        /// A second handler.
        case handler(HandlerBinding)
    }

    /// Who or what answers.
    package var answer: Answer
    /// For how long the handler must have been down; JSON: `afterSeconds`.
    package var after = Duration.seconds(120)

    /// Takes an answer.
    package init(_ answer: Answer) { self.answer = answer }

    /// The second handler, if it is one.
    var binding: HandlerBinding? {
        if case .handler(let binding) = answer { binding } else { nil }
    }
}
