/// The fallback that answers while a business's handler is down.
///
/// In JSON, `{"text": "An agent will reply soon.", "afterSeconds": 120}` or
/// `{"handler": {"builtin": "…"}, "afterSeconds": 120}`.
package struct FallbackConfiguration: Sendable {
    /// The answer of a fallback: a text, or the outcome of a second handler.
    package enum Answer: Sendable {
        /// A text, sent once; it is not repeated until the customer has received another message.
        case text(String)
        /// A second handler.
        case handler(HandlerBinding)
    }

    /// The answer of this fallback.
    package var answer: Answer
    /// The minimum downtime of the handler before the fallback is used; JSON: `afterSeconds`.
    package var after = Duration.seconds(120)

    /// Creates a fallback with this answer.
    package init(_ answer: Answer) { self.answer = answer }

    /// The binding of the second handler; nil when the answer is a text.
    var binding: HandlerBinding? {
        if case .handler(let binding) = answer { binding } else { nil }
    }
}
