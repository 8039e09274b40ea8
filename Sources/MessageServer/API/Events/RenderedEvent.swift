import MessageStore

/// An event that is rendered once, because all followers get the same text.
struct RenderedEvent: Sendable {
    private let type: String
    private let slug: String
    private let text: [UInt8]

    /// Renders an event with its place, for the business with this slug.
    init(_ placed: PlacedEvent, in store: String, business slug: String) {
        type = placed.event.name.rawValue
        self.slug = slug
        var text: [UInt8] = []
        EventText.append(placed, in: store, business: slug, to: &text)
        self.text = text
    }

    /// The text of the events that a filter accepts.
    static func text(of events: [RenderedEvent], for filter: EventFilter) -> [UInt8] {
        var text: [UInt8] = []
        for event in events where filter.accepts(event.type, of: event.slug) { text += event.text }
        return text
    }
}
