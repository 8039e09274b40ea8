import BalloonJSON
import BusinessMessages

/// A short summary of a message for people, in either direction.
enum MessageSummary {
    /// The text, the question and choices of a quick reply, or the summary of the other kinds.
    static func text(of message: JSONValue, kind: Kind) -> String {
        let request = message["interactiveData"]?["data"]?["quick-reply"]
        if kind == .quickReply, let request, request["selectedIndex"] == nil,
            request["selectedIdentifier"] == nil
        {
            let titles = request["items"]?.elements.compactMap { $0["title"]?.string } ?? []
            let question = request["summaryText"]?.string ?? "quick reply"
            return "\(question) [\(titles.joined(separator: " | "))]"
        }
        // A part of a valid document is valid by itself.
        guard let document = try? JSONDocument(Array(message.text)) else { return kind.rawValue }
        return InboundEvent.decode(message: document).summary
    }
}

extension MessageSummary {
    /// The message's kind, from its content.
    static func kind(of message: JSONValue) -> Kind {
        // A part of a valid document is valid by itself.
        guard let document = try? JSONDocument(Array(message.text)) else { return .unrecognized }
        return InboundEvent.decode(message: document).kind
    }
}
