internal import BalloonJSON

/// The customer's choice in a quick reply.
///
/// ```json
/// "data": {"quick-reply": {"selectedIndex": 0, "selectedIdentifier": "yes",
///          "items": [{"identifier": "yes", "title": "Yes"}, …]}}
/// ```
/// Apple MSP API, "Quick Reply Webhook Event".
public struct QuickReply: Sendable {
    /// One of the offered choices.
    public struct Item: Equatable, Sendable {
        /// The item's identifier, chosen by the business.
        public let identifier: String?
        /// The item's text, chosen by the business.
        public let title: String?
    }

    /// The position of the chosen item, from 0.
    public let selectedIndex: Int?
    /// The identifier of the chosen item.
    public let selectedIdentifier: String?
    /// The offered choices.
    public let items: [Item]
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    init(_ quickReply: JSONValue, _ interaction: Interaction) {
        selectedIndex = quickReply["selectedIndex"]?.scalarInt
        selectedIdentifier = quickReply["selectedIdentifier"]?.scalarString
        items = (quickReply["items"]?.objects ?? []).map {
            Item(identifier: $0["identifier"]?.scalarString, title: $0["title"]?.scalarString)
        }
        self.interaction = interaction
    }

    /// The chosen item: found by identifier, else by position.
    ///
    /// Some devices omit `items`; the result then has the reply's own identifier and no title. `nil` when no offered
    /// item matches.
    public var selectedItem: Item? {
        if items.isEmpty { return selectedIdentifier.map { Item(identifier: $0, title: nil) } }
        if let selectedIdentifier, let item = items.first(where: { $0.identifier == selectedIdentifier }) {
            return item
        }
        guard let selectedIndex, items.indices.contains(selectedIndex) else { return nil }
        return items[selectedIndex]
    }
}
