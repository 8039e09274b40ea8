public import BusinessMessages

extension Context {
    /// Whether the customer's device can show `reply`; texts and links every device can.
    public func canShow(_ reply: Reply) -> Bool {
        do {
            try reply.require(capabilities)
            return true
        } catch {
            return false
        }
    }

    /// The event is done; `reply` is sent where the customer's device can show it, else the same in words.
    ///
    /// Without `words` they are the message's own headline and a line for each choice.
    public func reply(_ reply: Reply, orText words: String? = nil) -> Outcome {
        .handled([showable(reply, words)])
    }

    /// `reply` where the customer's device can show it, else the same in words.
    public func showable(_ reply: Reply, orText words: String? = nil) -> Reply { showable(reply, words) }

    private func showable(_ reply: Reply, _ words: String?) -> Reply {
        do {
            try reply.require(capabilities)
            return reply
        } catch {
            let text = words ?? error.fallback
            // A message that says nothing has no words; Apple's refusal of it is then told by its rule.
            return text.isEmpty ? reply : .text(text)
        }
    }
}
