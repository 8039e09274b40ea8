import BalloonJSON
import BusinessMessages
import MessageStore

/// The settings of a business's automatic messages, `replies` in its file.
///
/// ```json
/// { "typing": { "seconds": 1, "maximumSeconds": 3 }, "links": "convert" }
/// ```
package struct RepliesConfiguration: Hashable, Sendable {
    /// The time for which customers see that somebody types before each message; nil for none.
    package var typing: TypingPause?
    /// The treatment of web addresses in the texts of handlers.
    package var links = Links.keep

    /// The treatment of web addresses in the texts of handlers.
    package enum Links: String, CaseIterable, Sendable {
        /// They stay in the text.
        case keep
        /// Each becomes a link of its own.
        case convert
    }

    /// Creates settings that change nothing.
    package init() {}

    static func read(_ reader: inout ObjectReader) -> RepliesConfiguration {
        var replies = RepliesConfiguration()
        replies.typing = reader.object("typing") { reader in
            var pause = TypingPause()
            reader.set(&pause.shortest, "seconds", in: 0...10)
            reader.set(&pause.longest, "maximumSeconds", in: 0...10)
            return pause
        }
        let allowed = Links.allCases.map(\.rawValue).joined(separator: " or ")
        replies.links =
            reader.choice("links", "is not what can happen to links", hint: "use \(allowed)") ?? .keep
        return replies
    }
}

/// The time for which a customer sees that somebody types before an automatic message.
package struct TypingPause: Hashable, Sendable {
    /// The time before a text of one line, and before any other message, JSON: `seconds`.
    package var shortest = Duration.seconds(1)
    /// The time before a long text, JSON: `maximumSeconds`.
    package var longest = Duration.seconds(3)

    /// Creates the times that Apple's reviewers are used to.
    package init() {}

    /// The characters of a text that ``shortest`` is enough for; a longer text takes longer in proportion.
    private static let charactersOfALine = 80

    /// Returns the time before a message; nil when no indicator comes before it.
    func length(before reply: DecidedReply) -> Duration? {
        switch reply.kind {
        // An invitation reaches a customer who has no conversation yet.
        case .typingStart, .typingEnd, .close, .invitation: return nil
        case .text: break
        default: return min(shortest, longest)
        }
        // The message was encoded by this server, so it is valid JSON.
        let body = (try? JSONDocument(reply.message, limits: .stored))?.root["body"]?.string ?? ""
        let lines = max(1, Double(body.count) / Double(Self.charactersOfALine))
        return min(shortest * lines, longest)
    }
}
