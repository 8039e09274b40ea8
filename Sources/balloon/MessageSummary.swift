import BusinessMessages
import Simulator

/// A short summary of a message for people, in either direction.
enum MessageSummary {
    /// The kind and the summary: `text: Good morning`, `richLink: Our shop https://shop.example`.
    static func line(of message: JSONValue, kind: Kind, isFromBusiness: Bool) -> String {
        if message["type"]?.string == "richLink" {
            let link = message["richLinkData"] ?? message["richLinkDataRef"] ?? message["preview"]
            let parts = [link?["title"]?.string, link?["url"]?.string].compactMap(\.self)
            return "richLink: \(parts.joined(separator: " "))"
        }
        return "\(kind): \(text(of: message, kind: kind, isFromBusiness: isFromBusiness))"
    }

    /// The content in one line: a question of the business with its choices, its request to sign in or to pay, or the summary of
    /// any other message.
    static func text(of message: JSONValue, kind: Kind, isFromBusiness: Bool) -> String {
        // A value of a valid JSON document is valid JSON itself, so parsing does not fail.
        guard let document = try? JSONDocument(Array(message.text)) else { return kind.rawValue }
        // DeviceOffer throws for a message that asks nothing, as most messages do.
        if isFromBusiness {
            // The result of a sign-in or a payment is in the customer's answer only.
            if kind == .authentication { return text("sign-in", message) }
            if kind == .applePay { return text("payment request", message) }
            if let offer = try? DeviceOffer(document), let text = text(of: offer) { return text }
        }
        return InboundEvent.decode(message: document).summary
    }

    /// The name of a request, and the bubble's title.
    private static func text(_ request: String, _ message: JSONValue) -> String {
        let title = message["interactiveData"]?["receivedMessage"]?["title"]?.string ?? ""
        return title.isEmpty ? request : "\(request): \(title)"
    }

    /// A question and its choices: `When shall we come? [2026-12-10T17:00+0000 (slot-1) | …]`.
    ///
    /// For an invitation it is the question alone; nil for other messages without choices.
    private static func text(of offer: DeviceOffer) -> String? {
        let choices: String
        switch offer.kind {
        case .quickReply: choices = offer.items.map(\.title).joined(separator: " | ")
        case .listPicker, .timePicker: choices = offer.sections.map(text(of:)).joined(separator: "; ")
        case .form:
            let pages = offer.form?.pages ?? []
            choices = pages.map { "\($0.title ?? $0.subtitle ?? "") (\($0.identifier))" }.joined(
                separator: " | ")
        case .invitation: return offer.question
        default: return nil
        }
        return "\(offer.question ?? offer.kind.rawValue) [\(choices)]"
    }

    private static func text(of section: DeviceOffer.Section) -> String {
        let items = section.items.map { "\($0.title) (\($0.identifier))" }.joined(separator: " | ")
        guard let title = section.title, !title.isEmpty else { return items }
        return "\(title): \(items)"
    }

    /// The kind of a message, found by decoding its content.
    static func kind(of message: JSONValue) -> Kind {
        // A value of a valid JSON document is valid JSON itself, so parsing does not fail.
        guard let document = try? JSONDocument(Array(message.text)) else { return .unrecognized }
        return InboundEvent.decode(message: document).kind
    }
}
