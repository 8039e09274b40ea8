public import BusinessMessages

extension Context {
    /// Returns whether the customer's device can show `reply`; every device shows texts and links.
    public func canShow(_ reply: Reply) -> Bool {
        do {
            try reply.require(capabilities)
            return true
        } catch {
            return false
        }
    }

    /// Handles the event with `reply`, or with a text when the customer's device cannot show `reply`.
    ///
    /// Without `words` the text is the message's `fallback`. Without a `fallback` it is the headline of the
    /// message with a line for each choice.
    public func reply(_ reply: Reply, orText words: String? = nil) -> Outcome {
        .handled([showable(reply, orText: words)])
    }

    /// Returns `reply`, or a text when the customer's device cannot show it.
    public func showable(_ reply: Reply, orText words: String? = nil) -> Reply {
        do {
            try reply.require(capabilities)
            return reply
        } catch {
            let text = words ?? reply.fallback ?? error.fallback
            // A message without any text cannot be replaced. Return it: the server then refuses it and names
            // the broken rule.
            return text.isEmpty ? reply : .text(text)
        }
    }
}
