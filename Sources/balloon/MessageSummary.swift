import BalloonJSON
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

    /// The text, the question with all that it offers, or the summary of the other kinds.
    static func text(of message: JSONValue, kind: Kind, isFromBusiness: Bool) -> String {
        // A part of a valid document is valid by itself.
        guard let document = try? JSONDocument(Array(message.text)) else { return kind.rawValue }
        // Most messages are no question.
        if isFromBusiness, let offer = try? DeviceOffer(document), let text = text(of: offer) { return text }
        return InboundEvent.decode(message: document).summary
    }

    /// `When shall we come? [2026-12-10T17:00+0000 (slot-1) | …]`; nil for a question that offers no list.
    private static func text(of offer: DeviceOffer) -> String? {
        let choices: String
        switch offer.kind {
        case .quickReply: choices = offer.items.map(\.title).joined(separator: " | ")
        case .listPicker, .timePicker:
            choices = offer.sections.map(text(of:)).joined(separator: "; ")
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
}

extension MessageSummary {
    /// The message's kind, from its content.
    static func kind(of message: JSONValue) -> Kind {
        // A part of a valid document is valid by itself.
        guard let document = try? JSONDocument(Array(message.text)) else { return .unrecognized }
        return InboundEvent.decode(message: document).kind
    }
}
