import MessageStore

/// An event that is rendered once for all followers that see the same record numbers.
struct RenderedEvent: Sendable {
    private let type: String
    private let slug: String
    private let text: [UInt8]

    /// Renders an event with its place, for the business with this slug.
    init(_ placed: PlacedEvent, in numbers: RecordNumbers, business slug: String) {
        type = placed.event.name.rawValue
        self.slug = slug
        text = EventText.text(of: placed, in: numbers, business: slug)
    }

    /// The text of the events that a filter accepts.
    static func text(of events: [RenderedEvent], for filter: EventFilter) -> [UInt8] {
        events.flatMap { filter.accepts($0.type, of: $0.slug) ? $0.text : [] }
    }
}
