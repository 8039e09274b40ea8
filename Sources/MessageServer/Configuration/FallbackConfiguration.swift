/// The answer while a business's handler is down.
///
/// `{"text": "An agent will reply soon.", "afterSeconds": 120}` or `{"handler": {"builtin": "…"}, "afterSeconds": 120}`.
package struct FallbackConfiguration: Sendable {
    /// The kind of answer.
    package enum Answer: Sendable {
        /// A text, sent once until another message is sent.
        case text(String)
        /// A second handler.
        case handler(HandlerBinding)
    }

    /// The answer.
    package var answer: Answer
    /// The minimum downtime of the handler before the fallback is used; JSON: `afterSeconds`.
    package var after = Duration.seconds(120)

    /// Creates a fallback with this answer.
    package init(_ answer: Answer) { self.answer = answer }

    /// The second handler, if the answer is one.
    var binding: HandlerBinding? {
        if case .handler(let binding) = answer { binding } else { nil }
    }
}
