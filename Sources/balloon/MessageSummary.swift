import BalloonJSON
import BusinessMessages

/// What a message says, in a few words for people, whichever way it goes.
enum MessageSummary {
    /// The text, a quick reply's question and choices, or what the kind's own summary says.
    static func text(of message: JSONValue, kind: Kind) -> String {
        let request = message["interactiveData"]?["data"]?["quick-reply"]
        if kind == .quickReply, let request, request["selectedIndex"] == nil,
            request["selectedIdentifier"] == nil
        {
            let titles = request["items"]?.elements.compactMap { $0["title"]?.string } ?? []
            let question = request["summaryText"]?.string ?? "quick reply"
            return "\(question) [\(titles.joined(separator: " | "))]"
        }
        // The value is part of a valid document, so its text is one.
        guard let document = try? JSONDocument(Array(message.text)) else { return kind.rawValue }
        return InboundEvent.decode(message: document).summary
    }
}

extension MessageSummary {
    /// The message's kind, as its content shows it.
    static func kind(of message: JSONValue) -> Kind {
        // The value is part of a valid document, so its text is one.
        guard let document = try? JSONDocument(Array(message.text)) else { return .unrecognized }
        return InboundEvent.decode(message: document).kind
    }
}
